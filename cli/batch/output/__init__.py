"""The display of a running batch: `progress` chooses the content of the live view and `live` draws it; `summary` has a
line for each finished task and the table at the end; `stderr` is where a person reads them. `outputs` brings all of it
to its readers, the records of `--json` to stdout among them."""
