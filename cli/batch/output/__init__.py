"""What a running batch shows: `progress` chooses the content of the live view and `live` draws it; `lines` has a line
for each finished task, `summary` the table at the end, and `stream` the records of `--json`.

All of it but the stream goes to stderr.
"""
