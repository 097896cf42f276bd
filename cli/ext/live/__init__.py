"""`zot ext stats`, `logs`, `restart` and `reload`: extensions of a host that runs.

What is installed, whether or not it runs, is in `cli.ext.manage`.
"""
