"""What is said on a pipe: framing, frames, events, manifest, control requests. Pure: no I/O, no clock, no processes."""
