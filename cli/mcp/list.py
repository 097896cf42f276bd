"""`zot mcp list`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.columns import fitted
from cli.dialogue import say
from cli.help.page import page_width
from cli.json_line import print_json
from cli.mcp.shared import shown
from cli.number_format import count_text
from cli.os_errors import exit_with
from cli.parameters import Json

if TYPE_CHECKING:
    import typer

    from cli.mcp.reading.entries import Listed
    from cli.mcp.reading.states import EntryState
    from supervisor.home.config import Config
    from supervisor.monitoring.definition_sizes import DefinitionSize

COLUMNS = ("scope", "name", "state", "tools", "tokens", "command")
GIVES_WAY = (5, 3, 4, 0)
"""Columns that are left out on a terminal that is too narrow, the least important first; zot mcp get has them all."""
RIGHT = (3, 4)
COMMAND = 60
"""Characters of a command line in the table."""


def register(app: typer.Typer) -> None:
    app.command("list")(mcp_list)
    app.command("ls", hidden=True)(mcp_list)


def mcp_list(as_json: Json = False) -> None:
    """List the MCP servers of this project and of the user, without starting any.

    The state says what a run would do with it: ok, disabled, faulty, hidden (another one has the name), unset
    (a variable that it needs), or untrusted. What is wrong, and where, stands below the table. "tools" says how many
    tools a server had when it last ran, and "tokens" about how many tokens of each request to the model they take.

    Exit status: 0 listed, also if there is nothing; 1 a file cannot be read; 2 usage.

    Examples:
        zot mcp list                                         a table
        zot mcp list --json | jq -r 'select(.state == "ok") | .name'   names
    """
    exit_with("mcp list", lambda: _run(as_json=as_json))


def _run(*, as_json: bool) -> int:
    from cli.mcp.reading.entries import read_entries
    from cli.mcp.reading.states import states_of
    from supervisor.home.config import load_config
    from supervisor.home.zot_home import zot_home
    from supervisor.monitoring.definition_sizes import key_of, read_sizes

    home, project = zot_home(), Path.cwd()
    entries, config, sizes = read_entries(project, home, os.environ), load_config(home), read_sizes(home)
    for fault in entries.faults:
        say(f"zot mcp list: {shown(fault, 4000)}")
    rows = [
        (each, state, sizes.get(key_of(each.name, each.place)))
        for each, state in zip(entries.found, states_of(entries.found, project, home), strict=True)
    ]
    if as_json:
        for each, state, size in rows:
            print_json(record(each, state, size, config))
    elif rows:
        _print_table(rows, config)
    elif not entries.faults:
        say("no MCP servers; zot mcp add NAME -- COMMAND adds one")
    return 1 if entries.faults else 0


def _print_table(found: list[tuple[Listed, EntryState, DefinitionSize | None]], config: Config) -> None:
    """What is wrong with an entry stands below the table."""
    rows, troubles = [COLUMNS], []
    for each, state, size in found:
        command = "-" if each.entry is None else shown(command_line(each, config), COMMAND)
        counts = ("-", "-") if size is None else (str(size.tools), count_text(size.tokens))
        rows.append((each.scope.value, shown(each.name, 200), state.word, *counts, command))
        if state.why:
            troubles.append(f"{shown(each.name, 200)}: {shown(state.why)}")
    width = page_width(widest=None) if sys.stdout.isatty() else None
    for line in [*fitted(rows, width, GIVES_WAY, RIGHT), *troubles]:
        sys.stdout.write(line + "\n")


def command_line(each: Listed, config: Config) -> str:
    """The command line as it is written, without secrets; empty for a faulty entry."""
    from cli.mcp.reading.hiding import hidden_arguments

    if each.entry is None:
        return ""
    return shlex.join([each.entry.server.command, *hidden_arguments(each.entry.server.args, config)])


def record(each: Listed, state: EntryState, size: DefinitionSize | None, config: Config) -> dict[str, Any]:
    """The object of one entry."""
    from cli.mcp.reading.hiding import hidden_arguments

    server = None if each.entry is None else each.entry.server
    return {
        "name": each.name,
        "scope": each.scope.value,
        "file": str(each.file),
        "state": state.word,
        "why": state.why or None,
        "command": server and server.command,
        "args": None if server is None else hidden_arguments(server.args, config),
        "tools": size and size.tools,
        "definition_tokens": size and size.tokens,
    }
