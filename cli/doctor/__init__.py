"""`zot doctor`: checks the machine and the configuration, and starts nothing.

`zot ext doctor`, which starts each extension, is in `cli.ext.author`.
"""
