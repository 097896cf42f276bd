"""Counters, latency percentiles, rates and limits of one extension. Pure: numbers in, numbers and verdicts out.

Who measures, and when, is in `supervisor.monitoring`.
"""
