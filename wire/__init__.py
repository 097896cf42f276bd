"""The formats on pipes, sockets and in files: framing, frames, dialects, events, manifest, settings, requests, stats;
and the flags of command lines.

Pure: no I/O, no clock, no processes, but for the programs that write generated files (`schema`, `rpc.python_classes`,
`rpc.blocking_half`).
"""
