"""New versions of extensions while a host runs: the plan, the steps, and the watch on files.

How one version takes over from another is in `supervisor.extension`.
"""
