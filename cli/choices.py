"""Checks of flags that several commands share."""

from __future__ import annotations

import os
from enum import Enum
from typing import Literal

import typer

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


class Preferred(Enum):
    _value_: Literal["first", "last", "ok"]
    first = "first"
    last = "last"
    ok = "ok"


class LogFormat(Enum):
    console = "console"
    json = "json"


class LogLevel(Enum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"
