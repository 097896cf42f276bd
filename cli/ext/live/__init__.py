"""`zot ext status`, `stats`, `call`, `logs`, `restart` and `reload`: commands about running extensions and their logs.

Commands about installed extensions, running or not, are in `cli.ext.manage`.
"""
