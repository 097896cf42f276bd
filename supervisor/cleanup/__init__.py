"""Cleaning up after a killed host: the reaper process, the record of each host, and the search for its processes.

A host that lives stops its own children: see `supervisor.process.teardown`.
"""
