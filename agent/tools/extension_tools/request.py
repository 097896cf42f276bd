"""Reads the arguments of `extensions_manage`. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from agent.tools import arguments
from agent.tools.outcome import ToolError
from wire.suggest import not_one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.discovery.copilot.scaffold import Location

OPERATIONS = ("scaffold", "list", "inspect")
LOCATIONS = ("project", "user")
QUOTED = 80
"""Characters of a wrong word in the error about it."""


class Scaffold(msgspec.Struct, frozen=True):
    name: str
    location: Location


class ListAll(msgspec.Struct, frozen=True):
    pass


class Inspect(msgspec.Struct, frozen=True):
    name: str


Request = Scaffold | ListAll | Inspect


def read(args: arguments.Arguments) -> Request:
    """What is asked for. Raises `ToolError`."""
    operation = _one_of(args, "operation", OPERATIONS)
    if operation == "list":
        return ListAll()
    name = arguments.text(args, "name").strip()
    if not name:
        raise ToolError(f"name is required for {operation}")
    if operation == "inspect":
        return Inspect(name)
    return Scaffold(name, cast("Location", _one_of(args, "location", LOCATIONS, default="project")))


def _one_of(args: arguments.Arguments, field: str, known: Sequence[str], default: str = "") -> str:
    word = arguments.text(args, field).strip() or default
    if word in known:
        return word
    if not word:
        raise ToolError(f"{field} is required: {', '.join(known)}")
    raise ToolError(f"{field}: {not_one_of(word[:QUOTED], known)}")
