"""`zot session show`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.json_line import print_json
from cli.sessions.shared_options import Cwd, SessionId, fields, file_of, folder, run_and_exit


def register(app: typer.Typer) -> None:
    app.command("show")(show)


def show(
    session: SessionId,
    full: Annotated[bool, typer.Option("--full", help="Show all text of tools, and what the model thought.")] = False,
    cwd: Cwd = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole session as one JSON object.")] = False,
) -> None:
    """Show the conversation of a session.

    Calls of tools are shown with their arguments, and results with their first lines.

    Exit status: 0 shown, 1 there is no such session or it cannot be read, 2 usage, 130 the reader of stdout has gone.

    Examples:
        zot session show 3f2a | less                              its messages
        zot session show 3f2a --full                              nothing is cut
        zot session show 3f2a --json | jq '.messages[].role'      for a program
    """
    run_and_exit("show", lambda: _run(session, full=full, cwd=cwd, as_json=as_json))


def _run(session: str, *, full: bool, cwd: str | None, as_json: bool) -> int:
    from agent.sessions.reading.history import read_history

    history = read_history(file_of(folder(cwd), session))
    if as_json:
        from agent.sessions.export.json import export_record

        print_json(fields(export_record(history)))
        return 0
    from cli.sessions.conversation import lines_of
    from cli.terminal import wants_style

    for line in lines_of(history, full=full, style=wants_style()):
        sys.stdout.write(line + "\n")
    return 0
