"""`zot session fork`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.sessions.shared_options import Cwd, SessionId, file_of, folder, home, working


def register(app: typer.Typer) -> None:
    app.command("fork")(fork)


def fork(
    session: SessionId,
    at: Annotated[
        int | None,
        typer.Option("--at", help="Only its first N messages, as zot session show counts them.", metavar="N", min=1),
    ] = None,
    cwd: Cwd = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the new session as a JSON object.")] = False,
) -> None:
    """Copy a session, or its beginning, to a new one, so that both can go on.

    The session itself stays as it is; a run may be writing to it. Prints the new id.

    Exit status: 0 made, 1 there is no such session or it has fewer messages, 2 usage.

    Examples:
        zot session fork 3f2a                       all of it
        zot session fork 3f2a --at 4                its first four messages
        zot -r "$(zot session fork 3f2a --at 4)" -p "the other way"    … and go on with them
    """
    working("fork", lambda: _run(session, at=at, cwd=cwd, as_json=as_json))


def _run(session: str, *, at: int | None, cwd: str | None, as_json: bool) -> int:
    from agent.sessions.fork import fork as forked
    from cli.sessions.made import tell_of
    from cli.version import VERSION

    path = forked(file_of(folder(cwd), session), home(), at=at, version=VERSION)
    return tell_of(path, as_json=as_json)
