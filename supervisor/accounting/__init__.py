"""Counters, latency percentiles, rates and limits of one extension. Pure: numbers in, numbers and breaches out.

`supervisor.monitoring` takes the samples.
"""
