"""Checks of flags that several commands share."""

from __future__ import annotations

import os
from enum import Enum

import typer

from wire.exit_codes import Status
from wire.suggest import not_one_of

BUILT_IN_TOOLS = ("read", "write", "edit", "bash")


class CommandLineError(typer.TyperException):
    """A command line that cannot be run. The text is printed as it is."""

    exit_code = Status.USAGE.exit_code


def project_folder(cwd: str | None) -> str:
    """The absolute path of --cwd, or of the current folder. Raises `CommandLineError`."""
    path = os.path.abspath(cwd or os.curdir)
    if not os.path.isdir(path):
        raise CommandLineError(f"--cwd {cwd}: {'not a folder' if os.path.exists(path) else 'no such folder'}")
    return path


class Reasoning(Enum):
    low = "low"
    medium = "medium"
    high = "high"


def tools_from(csv: str | None) -> frozenset[str]:
    """The built-in tools in a comma-separated list; all of them without a list. Raises `CommandLineError`."""
    if csv is None:
        return frozenset(BUILT_IN_TOOLS)
    names = [name.strip() for name in csv.split(",") if name.strip()]
    for name in names:
        if name not in BUILT_IN_TOOLS:
            raise CommandLineError(f"--tools: {not_one_of(name, BUILT_IN_TOOLS)}")
    return frozenset(names)
