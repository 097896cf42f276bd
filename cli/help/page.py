"""Renders the help of a command, and the list of all commands, as text: at most 100 columns, and bold only on a
terminal that wants it."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import typer

from cli.choices import CommandLineError
from cli.help.help_text import HelpTable, parse
from wire.suggest import no_such

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typer._click.core import Command, Context

PLAIN_WIDTH = 80
WIDEST = 100
NARROWEST = 40
INDENT = 2
GAP = 2
LEFT_SHARE = 0.6
"""The most of the width that the left column of a table may take."""
DEFAULT_PANEL = "Options"
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
    ("cli.app.rpc", "Running hosts"),
    ("cli.app.report", "Files"),
    ("cli.app.schema", "Files"),
)
"""The start of a callback's full name, and the title of the group, in the order of the groups."""
OTHERS = "Commands"
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


def page_width(
    environ: dict[str, str] | None = None, *, is_terminal: bool | None = None, widest: int | None = WIDEST
) -> int:
    """Columns: $COLUMNS, else the width of the terminal, else 80; at least 40, at most `widest`."""
    env = os.environ if environ is None else environ
    said = env.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        width = int(said)
    elif sys.stdout.isatty() if is_terminal is None else is_terminal:
        width = shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
    else:
        width = PLAIN_WIDTH
    return max(NARROWEST, width if widest is None else min(width, widest))


def wants_style() -> bool:
    """Whether to print bold text: on a terminal or with FORCE_COLOR, but never with NO_COLOR or on a dumb terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def render(context: Context, *, width: int, bold: bool) -> str:
    """The whole help of the context's command: what it does, how it is called, its flags, its examples."""
    page = _Page(width, bold=bold)
    command = context.command
    text = parse(command.help or "")
    pieces = [piece.removeprefix("{").removesuffix("}") for piece in command.collect_usage_pieces(context)]
    page.usage(f"{context.command_path} {' '.join(pieces)}")
    for part in text.body:
        page.gap()
        if isinstance(part, str):
            page.paragraph(part)
        else:
            page.table(part)
    page.section(text.examples, whole_left=True)
    for title, rows in command_groups(context):
        page.section(HelpTable(title, tuple(rows)))
    for title, rows in _parameters(context):
        page.section(HelpTable(title, tuple(rows)))
    page.section(text.exit_status)
    return page.text()


def command_groups(context: Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The title of each group of commands, with the name and the first sentence of each command in it."""
    command: Any = context.command
    if not hasattr(command, "list_commands"):
        return
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in command.list_commands(context):
        found: Command | None = command.get_command(context, name)
        if found is not None and not found.hidden:
            groups.setdefault(group_of(found), []).append((name, parse(found.help or "").summary))
    yield from sorted(groups.items(), key=lambda group: place_of(group[0]))


def show_help(context: Context, words: Sequence[str]) -> None:
    """Prints the help of the command that the words name; without words all commands with a line each. Raises
    `CommandLineError` if there is no such command."""
    root = context.find_root()
    if words:
        found = _context_of(root, words)
        typer.echo(found.get_help(), color=found.color)
        return
    bold = wants_style()
    page = _Page(page_width(), bold=bold)
    page.paragraph(HEAD)
    for title, rows in command_groups(root):
        page.section(HelpTable(title, tuple(rows)))
    page.section(MORE)
    typer.echo(page.text(), color=bold)


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


def group_of(command: Command) -> str:
    """The title of the group that the command belongs to."""
    callback = command.callback
    name = f"{callback.__module__}.{callback.__qualname__}" if callback is not None else ""
    return next((title for start, title in GROUPS if name.startswith(start)), OTHERS)


def place_of(title: str) -> int:
    """Where the group stands among the groups."""
    return next((index for index, (_, known) in enumerate(GROUPS) if known == title), len(GROUPS))


def _parameters(context: Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The title of each group of arguments and flags, with its lines. Groups with a name of their own come first."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        name, meaning = record
        is_argument = parameter.param_type_name == "argument"
        title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or DEFAULT_PANEL
        panels.setdefault(title, []).append((name, _meaning(parameter, meaning)))
    rest = panels.pop(DEFAULT_PANEL, None)
    yield from panels.items()
    if rest:
        yield DEFAULT_PANEL, rest


def _meaning(parameter: Any, said: str) -> str:
    """The meaning of a flag, with its default as a sentence. typer adds `[default: x; 0<=x<=9]`."""
    text = parameter.help or ""
    added = said.removeprefix(text).strip().removeprefix("[").removesuffix("]")
    default = next((part[9:] for part in added.split("; ") if part.startswith("default: ")), None)
    if default is None or "Default:" in text:
        return text
    number = default.removesuffix(".0")
    return f"{text} Default: {number if number.isdecimal() else default}."


class _Page:
    def __init__(self, width: int, *, bold: bool) -> None:
        self._width = width
        self._bold = bold
        self._lines: list[str] = []

    def text(self) -> str:
        return "\n".join(self._lines).strip("\n")

    def gap(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def usage(self, text: str) -> None:
        head = "Usage: "
        first, *rest = _wrapped(text, self._width - len(head))
        self._lines += [f"{head}{first}", *(" " * len(head) + line for line in rest)]

    def paragraph(self, text: str) -> None:
        self._lines += _wrapped(text, self._width)

    def section(self, table: HelpTable, *, whole_left: bool = False) -> None:
        """A table under its title; nothing if it has no rows."""
        if table.rows:
            self.gap()
            self.table(table, whole_left=whole_left)

    def table(self, table: HelpTable, *, whole_left: bool = False) -> None:
        """Two columns. A left cell that is too long for its column stands alone, above the right one. With `whole_left`
        a left cell is never wrapped, since it is there to be copied."""
        self._lines.append(self._strong(f"{table.title}:"))
        room = self._width - INDENT
        limit = int(room * LEFT_SHARE)
        fitting = [len(left) for left, right in table.rows if right and len(left) <= limit]
        column = max(fitting, default=0)
        for left, right in table.rows:
            self._row(left, right, column, room, whole_left=whole_left)

    def _row(self, left: str, right: str, column: int, room: int, *, whole_left: bool) -> None:
        pad = " " * INDENT
        lefts = [left] if whole_left or not right else _wrapped(left, room)
        if not right:
            self._lines += [pad + self._strong(line) for line in lefts]
            return
        rights = _wrapped(right, room - column - GAP)
        if len(lefts) == 1 and len(left) <= column:
            self._lines.append(f"{pad}{self._strong(left)}{' ' * (column - len(left) + GAP)}{rights[0]}")
            rights = rights[1:]
        else:
            self._lines += [pad + self._strong(line) for line in lefts]
        self._lines += [pad + " " * (column + GAP) + line for line in rights]

    def _strong(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self._bold and text else text


def _wrapped(text: str, width: int) -> Sequence[str]:
    """Lines of at most `width` columns; a word that is longer stays whole."""
    return textwrap.wrap(text, max(20, width), break_long_words=False, break_on_hyphens=False) or [""]
