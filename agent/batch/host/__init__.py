"""The host of a batch: a process with the extensions which the runs of the batch share, and the batch's end of it.

A run attaches to it as to any `zot host`: that is in `supervisor.sharing`.
"""
