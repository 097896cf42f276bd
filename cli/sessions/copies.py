"""`zot session fork` and `zot session import`: copies of sessions. Original and copy can both go on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cli.json_line import print_json
from cli.sessions.shared_options import Cwd, SessionId, fields, file_of, folder, home, run_and_exit
from cli.terminal import say

if TYPE_CHECKING:
    from pathlib import Path


def register(app: typer.Typer) -> None:
    app.command("import")(import_file)
    app.command("fork")(fork)


def fork(
    session: SessionId,
    at: Annotated[
        int | None,
        typer.Option("--at", help="Copy only its first N messages, as session show counts them.", metavar="N", min=1),
    ] = None,
    cwd: Cwd = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the new session as a JSON object.")] = False,
) -> None:
    """Copy a session, or its beginning, to a new session, so that both can go on.

    The original stays unchanged; a run may be writing to it. Prints the new id.

    Exit status: 0 made, 1 there is no such session or it has fewer messages, 2 usage.

    Examples:
        zot session fork 3f2a                       the whole session
        zot session fork 3f2a --at 4                its first four messages
        zot -r "$(zot session fork 3f2a --at 4)" -p "the other way"    … and resume them
    """
    run_and_exit("fork", lambda: _fork(session, at=at, cwd=cwd, as_json=as_json))


def _fork(session: str, *, at: int | None, cwd: str | None, as_json: bool) -> int:
    from agent.sessions.fork import fork as forked
    from cli.version import VERSION

    path = forked(file_of(folder(cwd), session), home(), at=at, version=VERSION)
    return _print_new(path, as_json=as_json)


def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .zotsession file, or any session file.")],
    cwd: Cwd = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the new session as a JSON object.")] = False,
) -> None:
    """Import a session as a copy with a new id, from a file of another machine or of the other zot.

    The copy belongs to this folder. Prints the new id.

    Exit status: 0 imported, 1 FILE cannot be read or is no session, 2 usage.

    Examples:
        zot session import run.zotsession          into this folder
        zot -r "$(zot session import run.zotsession)" -p "go on"    … and resume it
    """
    run_and_exit("import", lambda: _import(file, cwd=cwd, as_json=as_json))


def _import(file: str, *, cwd: str | None, as_json: bool) -> int:
    from pathlib import Path

    from agent.sessions.load import SessionError
    from agent.sessions.portable import import_session
    from cli.version import VERSION

    if "\0" in file or not file:
        raise SessionError("FILE is empty" if not file else "FILE has a NUL character")
    path = import_session(Path(file), home(), cwd=folder(cwd), version=VERSION)
    return _print_new(path, as_json=as_json)


def _print_new(path: Path, *, as_json: bool) -> int:
    """Prints the id of a new session, or with `as_json` its record as in `zot session list --json`. Returns 0."""
    from agent.sessions.store import describe
    from cli.sessions.shared_options import short_id
    from wire.text import counted

    info = describe(path)
    if as_json:
        from agent.sessions.export.json import session_record

        print_json(fields(session_record(info)))
        return 0
    sys.stdout.write(info.id + "\n")
    say(f'{counted(info.messages, "message")}; resume it with: zot -r {short_id(info)} -p "…"')
    return 0
