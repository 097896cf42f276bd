"""Values of flags that are chosen from a few."""

from __future__ import annotations

from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING

import typer

from wire.events import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

BUILT_IN_TOOLS = ("read", "write", "edit", "bash")


class CommandLineError(typer.TyperException):
    """A command line that cannot be run, in words of our own."""

    exit_code = Status.USAGE.exit_code


class Reasoning(Enum):
    low = "low"
    medium = "medium"
    high = "high"


def tools_from(csv: str | None) -> frozenset[str]:
    """The built-in tools named in a comma-separated list; all of them without a list."""
    if csv is None:
        return frozenset(BUILT_IN_TOOLS)
    names = [name.strip() for name in csv.split(",") if name.strip()]
    for name in names:
        if name not in BUILT_IN_TOOLS:
            raise CommandLineError(f"--tools: {unknown(name, BUILT_IN_TOOLS)}")
    return frozenset(names)


def unknown(name: str, known: Iterable[str]) -> str:
    """The error text for a name that is none of the known ones."""
    options = list(known)
    near = get_close_matches(name, options, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{name!r} is not one of {', '.join(options)}{hint}"
