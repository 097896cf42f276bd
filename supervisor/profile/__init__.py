"""Profiles of running extensions: the choice of the process, py-spy for Python, the inspector for Node, the file that
both make, and its hot spots.

`profiler` has the order of things and blocks: only commands and `profile_main`, a child of a host, call it. A host's
loop uses `stall_profile`.
"""
