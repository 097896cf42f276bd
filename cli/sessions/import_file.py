"""`zot session import`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.sessions.shared_options import Cwd, folder, home, working


def register(app: typer.Typer) -> None:
    app.command("import")(import_file)


def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .zotsession file, or any session file.")],
    cwd: Cwd = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the new session as a JSON object.")] = False,
) -> None:
    """Take over a session from another machine, or from zot: a copy with an id of its own.

    It belongs to this folder from now on. Prints the new id.

    Exit status: 0 imported, 1 FILE cannot be read or is no session, 2 usage.

    Examples:
        zot session import run.zotsession          into this folder
        zot -r "$(zot session import run.zotsession)" -p "go on"    … and go on with it
    """
    working("import", lambda: _run(file, cwd=cwd, as_json=as_json))


def _run(file: str, *, cwd: str | None, as_json: bool) -> int:
    from pathlib import Path

    from agent.sessions.load import SessionError
    from agent.sessions.portable import import_session
    from cli.sessions.made import tell_of
    from cli.version import VERSION

    if "\0" in file or not file:
        raise SessionError("FILE is empty" if not file else "FILE has a NUL character")
    path = import_session(Path(file), home(), cwd=folder(cwd), version=VERSION)
    return tell_of(path, as_json=as_json)
