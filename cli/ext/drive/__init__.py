"""`zot ext drive`: a person talks to one extension by hand, at a prompt.

The process and the record of its lines are in `supervisor.harness`; its flags are in `cli.ext.author.commands`.
"""
