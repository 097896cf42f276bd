"""The flags of the commands that start runs and hosts: one row for each flag.

`flag` defines a row; `run`, `batch` and `host` have the rows. From the rows come the parameters of the commands, their
help and completion (`cli.parameters`), and the files that `python docs/generate.py` writes: the reader of plain command
lines, the fields of a run's request, the options of `pyzot`, and the reference page. A new flag of a run is a row in
`run`; the code that implements it reads the field of the same name in `agent.options.RunRequest`. Flags of other
commands are declared with their command.
"""
