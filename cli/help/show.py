"""`zot help`: the commands in groups, or the help of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cli.choices import CommandLineError
from cli.help.help_text import HelpTable
from cli.help.page import overview
from cli.help.unknown_command import unknown_command, visible_commands
from cli.terminal import wants_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer._click.core import Context

HEAD = "zot runs a coding agent, with extensions as crash-isolated processes."
MORE = HelpTable(
    "More",
    (
        ('zot -p "PROMPT"', "run the agent; zot --help has its flags"),
        ("zot help COMMAND", "all about a command"),
        ("zot help ext COMMAND", "all about a command of zot ext"),
        ("zot help session COMMAND", "all about a command of zot session"),
        ("zot help batch COMMAND", "all about a command of zot batch"),
    ),
)


def show_help(context: Context, words: Sequence[str]) -> None:
    """Prints the help of the command that the words name; without words all commands with a line each. Raises
    `CommandLineError` if there is no such command."""
    found = context.find_root()
    for index, word in enumerate(words):
        known = dict(visible_commands(found))
        if not known:
            raise CommandLineError(
                f"{found.command_path} has no commands of its own; see zot help {' '.join(words[:index])}"
            )
        if word not in known:
            raise unknown_command(found, word)
        found = type(found)(known[word], info_name=word, parent=found)
    typer.echo(found.get_help() if words else overview(found, HEAD, MORE), color=wants_style())
