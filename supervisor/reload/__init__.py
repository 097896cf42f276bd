"""Reloads of extensions while a host runs: the plan, its execution, and the watch on files.

How one generation of an extension replaces another is in `supervisor.extension`.
"""
