"""`zot ext stats`, `logs`, `restart` and `reload`: what extensions do now, or have written.

What is installed, whether or not it runs, is in `cli.ext.manage`.
"""
