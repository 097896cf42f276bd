"""`zot session rm`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from cli.help.completion import sessions
from cli.sessions.shared_options import Cwd, complain, find_session, folder, home, run_and_exit
from cli.terminal import ask, is_attended, say

if TYPE_CHECKING:
    from agent.sessions.store import SessionInfo

SHOWN = 10


def register(app: typer.Typer) -> None:
    app.command("rm")(rm)
    app.command("remove", hidden=True)(rm)


def rm(
    session: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="At least 4 characters of an id, or its file.", autocompletion=sessions),
    ] = None,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    empty: Annotated[
        bool, typer.Option("--empty", help="Remove the sessions without a message, which interrupted runs have left.")
    ] = False,
    everywhere: Annotated[bool, typer.Option("--all", help="With --empty: remove those of all folders.")] = False,
    cwd: Cwd = None,
) -> None:
    """Remove sessions.

    A session that a run writes to stays; the others are removed. --empty keeps sessions of the last minute.

    Exit status: 0 removed, or you said no; 1 some are not there, in use, or cannot be removed; 2 usage.

    Examples:
        zot session rm 3f2a 90b1                        asks first
        zot session rm 3f2a --yes                       does not ask
        zot session rm --empty --all                    tidies up
    """
    run_and_exit("rm", lambda: _run(session or [], yes=yes, empty=empty, everywhere=everywhere, cwd=cwd))


def _run(names: list[str], *, yes: bool, empty: bool, everywhere: bool, cwd: str | None) -> int:
    from cli.choices import CommandLineError

    if bool(names) == empty:
        raise CommandLineError("give IDs, or --empty" + (", not both" if empty else "; zot session list has the ids"))
    if everywhere and not empty:
        raise CommandLineError("--all goes with --empty only: name the sessions to remove")
    where = folder(cwd)
    return _remove_empty(None if everywhere else where) if empty else _remove(where, names, yes=yes)


def _remove(where: str, names: list[str], *, yes: bool) -> int:
    from agent.sessions.load import SessionError
    from agent.sessions.remove import remove
    from cli.choices import CommandLineError
    from cli.sessions.shared_options import short_id, short_text

    chosen: dict[object, SessionInfo] = {}
    status = 0
    for name in names:
        try:
            info = find_session(where, name)
            chosen[info.path] = info
        except SessionError as error:
            complain("rm", str(error))
            status = 1
    if not chosen:
        return status
    if not yes:
        if not is_attended():
            raise CommandLineError("no terminal to ask whether to remove them; --yes removes them")
        if not _is_wanted(list(chosen.values())):
            say("nothing is removed")
            return status
    for info in chosen.values():
        try:
            remove(info.path, home())
            say(f"removed {short_id(info)}  {short_text(info.title, 100)}")
        except SessionError as error:
            complain("rm", str(error))
            status = 1
    return status


def _is_wanted(chosen: list[SessionInfo]) -> bool:
    from cli.sessions.shared_options import about

    now = time.time()
    for info in chosen[:SHOWN]:
        say(f"  {about(info, now)}")
    if len(chosen) > SHOWN:
        say(f"  and {len(chosen) - SHOWN} more")
    return ask(f"remove {'this session' if len(chosen) == 1 else f'these {len(chosen)} sessions'}?")


def _remove_empty(cwd: str | None) -> int:
    from agent.sessions.remove import remove_empty

    removed, faults = remove_empty(home(), cwd)
    for path in removed:
        say(f"removed {path}")
    if not removed:
        say("no empty sessions")
    for fault in faults:
        complain("rm", fault)
    return 1 if faults else 0
