"""`zot host`, `ps` and `stop`, and how commands find the hosts that run.

The host itself is `supervisor.host`; commands about its extensions are in `cli.ext.live`.
"""
