"""`zot ext install`, `list`, `info`, `update`, `enable`, `disable`, `remove` and `trust`: what is installed.

The work is in `supervisor.install` and `supervisor.discovery`; nothing here starts an extension.
"""
