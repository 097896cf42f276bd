"""`zot help`: the commands in groups, or the help of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from cli.choices import CommandLineError
from cli.help.help_text import HelpTable
from cli.help.page import command_groups, overview
from cli.terminal import page_width, wants_style
from wire.suggest import no_such

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer._click.core import Context

HEAD = "zot runs a coding agent headless, with extensions as crash-isolated processes."
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
    root = context.find_root()
    if not words:
        width, bold = page_width(), wants_style()
        tables = [HelpTable(title, tuple(rows)) for title, rows in command_groups(root)]
        typer.echo(overview(HEAD, [*tables, MORE], width=width, bold=bold), color=bold)
        return
    found = _context_of(root, words)
    text = found.get_help()
    typer.echo(text, color=found.color)


def _context_of(root: Context, words: Sequence[str]) -> Context:
    context = root
    for index, word in enumerate(words):
        group: Any = context.command
        known = group.list_commands(context) if hasattr(group, "list_commands") else []
        command = group.get_command(context, word) if known else None
        if command is None:
            if not known:
                raise CommandLineError(
                    f"{context.command_path} has no commands of its own; see zot help {' '.join(words[:index])}"
                )
            error = CommandLineError(no_such(f"command of {context.command_path}", word, known))
            error.command = context.command_path
            raise error
        context = type(context)(command, info_name=word, parent=context)
    return context
