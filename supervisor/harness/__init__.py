"""Tries extensions one process at a time, without an agent: `zot ext test`, `zot ext drive` and `zot ext doctor`.

The harness plays the host and records every line in both directions. `supervisor.supervisor` runs extensions for users.
"""
