"""Provokes faults around one extension and says which of them it stands: `zot ext torture`.

`faults` has the faults by family and their table; `runner` plays them, some at a time, with processes of
`supervisor.harness`; `score` sums them up. The output for people is in `cli.ext.culprit`.
"""
