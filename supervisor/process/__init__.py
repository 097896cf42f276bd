"""One child process and what the kernel says of it: spawn, limits, the process table, stopping a whole tree, cgroups.

What is said to a child is in `supervisor.extension`, what a killed host leaves behind in `supervisor.cleanup`.
"""
