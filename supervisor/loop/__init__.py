"""The event loop of the host: file descriptors, timers and signals, and non-blocking pipes.

The host waits only here. The room knows neither processes nor frames.
"""
