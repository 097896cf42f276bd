"""The use of resources by extensions: samples of process trees, and the figures as stats records and OpenMetrics.

The counters and the rules of limits are in `supervisor.accounting`.
"""
