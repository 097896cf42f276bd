"""Child processes and the kernel: spawning, limits, the process table, cgroups, stopping a whole tree, and why a
program did not start or has ended.

The protocol with a child is in `supervisor.extension`; cleaning up after a killed host is in `supervisor.cleanup`.
"""
