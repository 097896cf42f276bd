"""Checks of flags that several commands share."""

from __future__ import annotations

import os
from enum import Enum
from typing import Literal

import typer

from cli.duration import limit_from
from wire.exit_codes import Status


class CommandLineError(typer.TyperException):
    """A command line that cannot be run. The text is printed as it is."""

    exit_code = Status.USAGE.exit_code
    command: str | None = None
    """The command whose help has more about it; by default the one that is run."""


def project_folder(cwd: str | None) -> str:
    """The absolute path of --cwd, or of the current folder. Raises `CommandLineError`."""
    path = os.path.abspath(cwd or os.curdir)
    if not os.path.isdir(path):
        raise CommandLineError(f"--cwd {cwd}: {'not a folder' if os.path.exists(path) else 'no such folder'}")
    return path


def time_limit(flag: str, text: str) -> float:
    """The seconds of a time limit. Raises `CommandLineError`, which names the flag."""
    try:
        return limit_from(text)
    except ValueError as error:
        raise CommandLineError(f"{flag}: {error}") from None


def tool_arguments(where: str, text: str) -> bytes:
    """The arguments of a tool as JSON. Raises `CommandLineError`, with the line and the column of the fault."""
    import orjson

    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise CommandLineError(f"{where}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    if not isinstance(value, dict):
        raise CommandLineError(f'{where}: a tool takes a JSON object, such as {{"path": "a.txt"}}; this is no object')
    return orjson.dumps(value)


class Preferred(Enum):
    _value_: Literal["first", "last", "ok"]
    first = "first"
    last = "last"
    ok = "ok"


class LogFormat(Enum):
    console = "console"
    json = "json"


class HostKindName(Enum):
    """The kinds of hosts, as in `wire.stats.HostKind`."""

    host = "host"
    run = "run"
    mcp = "mcp"
    batch = "batch"


class LogLevel(Enum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"
