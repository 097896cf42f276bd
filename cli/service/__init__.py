"""`zot host` and what makes it a service: `install`, `uninstall`, `health`, and `-d`.

`commands` has the commands as typer sees them; their work is imported when one runs. The host itself is in `cli.hosts`.
"""
