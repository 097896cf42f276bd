"""The one loop: file descriptors, timers, child exits and signals, and non-blocking pipes on it.

Knows neither processes nor frames; the only wait of the program is here.
"""
