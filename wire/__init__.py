"""The formats on pipes, sockets and in files: framing, frames, events, manifest, control requests, stats.

Pure: no I/O, no clock, no processes.
"""
