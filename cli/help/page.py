"""The help of a command as text: at most 100 columns, and bold only on a terminal that wants it.

typer's formatter wraps the text and draws the tables. Its own pages have no groups, no examples and no exit statuses,
unless rich draws them, which starts slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from cli.help.help_text import HelpTable, parse
from cli.help.unknown_command import visible_commands
from cli.terminal import page_width, wants_style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

    Rows = list[tuple[str, str]]

LEFT_SHARE = 0.6
"""Maximum share of the width that the left column of a table takes."""
OTHER_COMMANDS = "Commands"
OTHER_FLAGS = "Options"
UNBROKEN = str.maketrans("-", "\u2011")
"""The formatter would break lines within the names of flags: after a hyphen, but not after this one."""


def render(context: Context, *, width: int, bold: bool) -> str:
    """The whole help of the context's command: what it does, how it is called, its flags, its examples."""
    command = context.command
    text = parse(command.help or "")
    pieces = [piece.removeprefix("{").removesuffix("}") for piece in command.collect_usage_pieces(context)]
    tables = [text.examples, *command_groups(context), *_parameters(context), text.exit_status]
    formatter = _formatter(context, width)
    formatter.write_usage(context.command_path, " ".join(pieces))
    return _page(formatter, [*text.body, *tables], bold=bold)


def overview(context: Context, head: str, more: HelpTable) -> str:
    """A sentence, the commands of the context's group, and one more table."""
    return _page(_formatter(context, page_width()), [head, *command_groups(context), more], bold=wants_style())


def command_groups(context: Context) -> Iterator[HelpTable]:
    """A table of each group of commands, with the name and the first sentence of each command in it."""
    groups: dict[str, Rows] = {title: [] for title in getattr(context.command, "panels", ())}
    for name, command in visible_commands(context):
        title = getattr(command, "rich_help_panel", None) or OTHER_COMMANDS
        groups.setdefault(title, []).append((name, parse(command.help or "").summary))
    return (HelpTable(title, tuple(rows)) for title, rows in groups.items())


def _parameters(context: Context) -> Iterator[HelpTable]:
    """A table of each group of arguments and flags. Groups with a name of their own come first."""
    panels: dict[str, Rows] = {}
    for parameter in context.command.get_params(context):
        if (record := parameter.get_help_record(context)) is not None:
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or OTHER_FLAGS
            panels.setdefault(title, []).append((record[0], _meaning(parameter, record[1])))
    rest = panels.pop(OTHER_FLAGS, [])
    return (HelpTable(title, tuple(rows)) for title, rows in (*panels.items(), (OTHER_FLAGS, rest)))


def _meaning(parameter: Any, said: str) -> str:
    """The meaning of a flag, with its default as a sentence. typer adds `[default: x; 0<=x<=9]`."""
    text = parameter.help or ""
    added = said.removeprefix(text).strip().removeprefix("[").removesuffix("]")
    default = next((part[9:] for part in added.split("; ") if part.startswith("default: ")), None)
    if default is None or "Default:" in text:
        return text
    number = default.removesuffix(".0")
    return f"{text} Default: {number if number.isdecimal() else default}."


def _formatter(context: Context, width: int) -> HelpFormatter:
    formatter = context.make_formatter()
    formatter.width = width
    return formatter


def _page(formatter: HelpFormatter, parts: list[str | HelpTable], *, bold: bool) -> str:
    """Adds paragraphs and tables, an empty line before each. A table without rows is left out."""

    def strong(text: str) -> str:
        return typer.style(text, bold=True) if bold else text

    for part in parts:
        if isinstance(part, str):
            formatter.write_paragraph()
            formatter.write_text(part.translate(UNBROKEN))
        elif part.rows:
            limit = int((formatter.width - formatter.indent_increment) * LEFT_SHARE)
            fitting = [len(left) for left, right in part.rows if right and len(left) <= limit]
            rows = [(strong(left), right.translate(UNBROKEN)) for left, right in part.rows]
            formatter.write_paragraph()
            formatter.write(f"{strong(f'{part.title}:')}\n")
            with formatter.indentation():
                formatter.write_dl(rows, col_max=max(fitting, default=0))
    return formatter.getvalue().replace("\u2011", "-").strip("\n")
