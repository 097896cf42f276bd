"""The memory of runs: a trace of each run under `$ZOT_HOME/runs`, and black boxes of extensions that fell.

`places` has the names of the files. `trace_file` writes a trace, `trace_reader` reads them, `sweep` removes old ones.
"""
