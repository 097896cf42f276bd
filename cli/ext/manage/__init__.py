"""`zot ext install`, `list`, `info`, `update`, `enable`, `disable`, `remove` and `trust`."""
