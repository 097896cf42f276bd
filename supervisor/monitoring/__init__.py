"""The use of resources by extensions: samples of process trees, and the figures as stats lines and metrics.

The counters and the rules of limits are in `supervisor.accounting`.
"""
