"""The event loop of the host: file descriptors, timers and signals, non-blocking pipes, rate limits, timestamps.

A host waits for its children only here. The room knows neither processes nor frames.
"""
