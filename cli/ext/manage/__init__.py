"""`zot ext install`, `install-sdk`, `list`, `info`, `update`, `enable`, `disable`, `remove` and `trust`: manage
installed extensions.

The work is in `supervisor.install` and `supervisor.discovery`; nothing here starts an extension.
"""
