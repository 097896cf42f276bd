"""`zot report`: one HTML page that shows what a run used and what happened in it.

The files that it reads are written by `supervisor.monitoring` and by `--json`.
"""
