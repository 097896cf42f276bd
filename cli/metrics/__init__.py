"""`zot metrics`: the figures of all running hosts in Prometheus' text format, printed or served by HTTP.

The scrapes and the server are in `supervisor.fleet`.
"""
