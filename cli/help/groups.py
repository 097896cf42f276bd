"""Which group a command is listed in: its room says so, and a command of a new room is in the last group."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer._click.core import Command

GROUPS = (
    ("cli.app.demo", "First steps"),
    ("cli.app.doctor", "First steps"),
    ("cli.app.help_", "First steps"),
    ("cli.models.", "Models and keys"),
    ("cli.ext._root", "Extensions"),
    ("cli.mcp._root", "Extensions"),
    ("cli.mcp.", "Manage MCP servers"),
    ("cli.skills._root", "Extensions"),
    ("cli.ext.author.", "Write an extension"),
    ("cli.ext.manage.", "Manage extensions"),
    ("cli.ext.live.", "Look at running extensions"),
    ("cli.sessions.", "Sessions"),
    ("cli.batch.", "Batches"),
    ("cli.host_commands", "Running hosts"),
    ("cli.mcp.", "Running hosts"),
    ("cli.app.rpc", "Running hosts"),
    ("cli.app.report", "Files"),
    ("cli.app.schema", "Files"),
)
"""The start of a callback's full name, and the title of the group, in the order of the groups."""
OTHERS = "Commands"


def group_of(command: Command) -> str:
    """The title of the group that the command belongs to."""
    callback = command.callback
    name = f"{callback.__module__}.{callback.__qualname__}" if callback is not None else ""
    return next((title for start, title in GROUPS if name.startswith(start)), OTHERS)


def place_of(title: str) -> int:
    """Where the group stands among the groups."""
    return next((index for index, (_, known) in enumerate(GROUPS) if known == title), len(GROUPS))
