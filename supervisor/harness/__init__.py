"""Runs one extension against a script, or checks that it starts: `zot ext test`, `drive` and `doctor`.

Running extensions for users is in `supervisor.supervisor`.
"""
