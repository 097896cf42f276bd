"""What extensions use: sampling of process trees, and the figures as stats records and OpenMetrics.

The counters themselves, and the rules of limits, are in `supervisor.accounting`.
"""
