"""Cleaning up after a killed host: the reaper process, the record of each host, and the search for its processes.

`host_processes` puts together what a host does about all its processes from its start on. How one that lives stops its
own children is in `supervisor.process.teardown`.
"""
