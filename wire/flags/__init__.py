"""The flags of the commands that start runs and hosts: a row for each, which all that reads or writes flags is made of.

`flag` says what a row is; `run`, `batch` and `host` have the rows. From them come the parameters of the commands, their
help and completion (`cli.parameters`), and the files that `python docs/generate.py` writes: the reader of plain command
lines, the fields of a run's request, the options of `pyzot`, and the reference page. A new flag of a run is a row in
`run`; what it does reads the field of its name in `agent.options.RunRequest`. Flags of other commands are declared with
their command.
"""
