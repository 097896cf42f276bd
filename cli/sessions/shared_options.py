"""Shared by the commands about sessions: options, finding a session, the exit, and the text of a session on a line: the
time of its last use, its cost and its title."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from cli.help.completion import sessions
from cli.number_format import dollars, number
from cli.os_errors import exit_with
from cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.sessions.store import SessionInfo
    from wire.events import Totals
    from wire.rpc.sessions import Branch, Export, Found, Session


Cwd = Annotated[
    str | None,
    typer.Option("-C", "--cwd", help="Use the sessions of runs in DIR. Default: the current folder.", metavar="DIR"),
]
All = Annotated[bool, typer.Option("--all", help="Use the sessions of all folders.")]
SessionId = Annotated[
    str,
    typer.Argument(metavar="ID", help="At least 4 characters of its id, or its file.", autocompletion=sessions),
]


def run_and_exit(command: str, run: Callable[[], int]) -> None:
    """Runs a command and exits with its status. An error gives one line and status 1, misuse status 2, Ctrl-C 130."""
    exit_with(f"session {command}", run)


def complain(command: str, text: str) -> None:
    from wire.text import one_line

    say(f"zot session {command}: {one_line(text, 4000)}")


def folder(cwd: str | None) -> str:
    """The absolute path of `--cwd`; the folder may be gone, its sessions stay. Raises `CommandLineError`."""
    from cli.choices import CommandLineError

    if cwd is not None and not cwd.strip():
        raise CommandLineError("--cwd is empty: give it a value, or leave it out")
    return os.path.abspath(cwd or os.curdir)


def home() -> Path:
    from supervisor.home.zot_home import zot_home

    return zot_home()


def find_session(cwd: str, text: str) -> SessionInfo:
    """The session that `text` names: among those of the folder, else among all. Raises `SessionError`."""
    from agent.sessions.store import describe

    return describe(file_of(cwd, text))


def file_of(cwd: str, text: str) -> Path:
    """The file of the session that `find_session` finds. Raises `SessionError`."""
    from agent.sessions.find import find

    return find(home(), cwd, text)


def read_sessions(cwd: str, *, everywhere: bool, command: str) -> list[SessionInfo]:
    """The sessions that are not hidden, newest first. Names unreadable ones on stderr."""
    from agent.sessions.store import list_sessions

    every = list_sessions(home(), None if everywhere else cwd, lambda line: complain(command, line))
    return [info for info in every if not info.is_hidden]


def fields(record: Session | Branch | Found | Export) -> dict[str, Any]:
    """The members that are set, by name, with their values unchanged."""
    return {name: value for name in record.__struct_fields__ if (value := getattr(record, name)) is not msgspec.UNSET}


ID_CHARACTERS = 8
_DAY_S = 86_400.0


def when(modified: str, now: float) -> str:
    """The age of `modified` (RFC 3339) at `now` (seconds since the epoch): `just now`, `5 min ago`, `3 h ago`,
    `2 d ago`, or the local date from 7 days on; `?` if it is no time."""
    try:
        then = datetime.fromisoformat(modified)
        age = now - then.timestamp()
        if not 0 <= age < 7 * _DAY_S:
            return "just now" if -60 < age < 0 else f"{then.astimezone():%Y-%m-%d}"
    except (ValueError, OverflowError, OSError):
        return "?"
    if age < 60:
        return "just now"
    if age < 3600:
        return f"{age // 60:.0f} min ago"
    return f"{age // 3600:.0f} h ago" if age < _DAY_S else f"{age // _DAY_S:.0f} d ago"


def tokens(usage: Totals) -> str:
    """All tokens, cached ones included, in five characters."""
    return number(usage.input + usage.output + usage.cache_read + usage.cache_write)


def cost(usage: Totals) -> str:
    return "unknown" if usage.cost_usd is None else dollars(usage.cost_usd)


def short_text(text: str, limit: int = 1000) -> str:
    """Untrusted text on one line for a terminal; `-` for an empty one."""
    from wire.text import one_line, valid_text

    return one_line(valid_text(text), limit) or "-"


def short_id(info: SessionInfo) -> str:
    return short_text(info.id[:ID_CHARACTERS])


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None if stdout is no terminal, unless $COLUMNS is set."""
    from cli.terminal import page_width, table_width

    return page_width(None) if os.environ.get("COLUMNS", "").isdecimal() else table_width()


def about(info: SessionInfo, now: float) -> str:
    """A session on one line: `3f2a90b1  5 min ago  12 messages  fix the tests`."""
    from wire.text import counted

    count = counted(info.messages, "message")
    return f"{short_id(info)}  {when(info.modified, now)}  {count}  {short_text(info.title)}"
