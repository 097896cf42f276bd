"""Tries extensions one process at a time, without an agent: `zot ext test`, `zot ext drive` and `zot ext doctor`.

The harness plays the host and records every line in both directions; `findings` judges the result of a checkup. The
output for people is in `cli.ext.author`. `supervisor.supervisor` runs extensions for users.
"""
