"""Nothing stays behind: the reaper process, the record of a host, and the search for what a killed host left.

Stopping the living children of a living host is in `supervisor.process.teardown`.
"""
