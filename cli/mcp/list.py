"""`zot mcp list` and `zot mcp get`: what the two files say, without starting a server."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.columns import fit_columns, print_table
from cli.json_line import print_json
from cli.mcp.scope import OnlyScope, ServerName
from cli.number_format import count_text, definitions_text
from cli.os_errors import exit_with
from cli.parameters import Json
from cli.terminal import say, table_width, terminal_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer

    from cli.mcp.entries import EntryState, ListedEntry
    from supervisor.home.config import Config
    from supervisor.monitoring.definition_sizes import DefinitionSize

COLUMNS = ("scope", "name", "state", "tools", "tokens", "command")
GIVES_WAY = (5, 3, 4, 0)
"""Columns that are left out on a terminal that is too narrow, the least important first; zot mcp get has them all."""
RIGHT = (3, 4)
WIDTH = 13
COMMAND = 60
"""Maximum length of a command line in the table, in characters."""


def register(app: typer.Typer) -> None:
    app.command("list")(mcp_list)
    app.command("ls", hidden=True)(mcp_list)
    app.command("get")(mcp_get)


def mcp_list(as_json: Json = False) -> None:
    """List the MCP servers of this project and of the user, without starting any.

    The state says what a run would do with it: ok, disabled, faulty, hidden (another one has the name), unset
    (a variable that it needs is not set), or untrusted. The faults and their places stand below the table. "tools" is
    the number of tools when the server last ran, "tokens" about how many tokens they take in each request to the model.

    Exit status: 0 listed, also if there is nothing; 1 a file cannot be read; 2 usage.

    Examples:
        zot mcp list                                         a table
        zot mcp list --json | jq -r 'select(.state == "ok") | .name'   names
    """
    exit_with("mcp list", lambda: _run(as_json=as_json))


def _run(*, as_json: bool) -> int:
    from cli.mcp.entries import read_entries, states_of
    from supervisor.home.config import load_config
    from supervisor.home.zot_home import zot_home
    from supervisor.monitoring.definition_sizes import key_of, read_sizes

    home, project = zot_home(), Path.cwd()
    entries, config, sizes = read_entries(project, home, os.environ), load_config(home), read_sizes(home)
    for fault in entries.faults:
        say(f"zot mcp list: {terminal_text(fault, 4000)}")
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


def _print_table(found: list[tuple[ListedEntry, EntryState, DefinitionSize | None]], config: Config) -> None:
    """Prints the table, and below it the faults of entries."""
    rows, troubles = [COLUMNS], []
    for each, state, size in found:
        command = "-" if each.entry is None else terminal_text(command_line(each, config), COMMAND)
        counts = ("-", "-") if size is None else (str(size.tools), count_text(size.tokens))
        rows.append((each.scope.value, terminal_text(each.name, 200), state.word, *counts, command))
        if state.why:
            troubles.append(f"{terminal_text(each.name, 200)}: {terminal_text(state.why)}")
    print_table([*fit_columns(rows, table_width(), GIVES_WAY, RIGHT), *troubles])


def command_line(each: ListedEntry, config: Config) -> str:
    """The command line as it is written, without secrets; empty for a faulty entry."""
    from cli.mcp.entries import hidden_arguments

    if each.entry is None:
        return ""
    return shlex.join([each.entry.server.command, *hidden_arguments(each.entry.server.args, config)])


def record(each: ListedEntry, state: EntryState, size: DefinitionSize | None, config: Config) -> dict[str, Any]:
    """The object of one entry."""
    from cli.mcp.entries import hidden_arguments

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


def mcp_get(name: ServerName, scope: OnlyScope = None, as_json: Json = False) -> None:
    """Show all about an MCP server, without starting it: where it comes from, and the values of its variables.

    Values that look like secrets are not shown. If both files have the name, it shows the one that would start.

    Exit status: 0 shown, also a faulty one; 1 failed; 2 no server has that name, or usage.

    Examples:
        zot mcp get github                         for a person
        zot mcp get github --json | jq .variables  for a program
    """

    def run() -> int:
        from cli.mcp.entries import find_entries, read_entries, states_of
        from supervisor.home.config import load_config
        from supervisor.home.zot_home import zot_home
        from supervisor.monitoring.definition_sizes import key_of, read_sizes

        home, project = zot_home(), Path.cwd()
        entries, config = read_entries(project, home, os.environ), load_config(home)
        matching = find_entries(name, entries, scope)
        judged = dict(zip(map(id, entries.found), states_of(entries.found, project, home), strict=True))
        each = next((one for one in matching if judged[id(one)].word == "ok"), matching[0])
        state = judged[id(each)]
        size = read_sizes(home).get(key_of(each.name, each.place))
        if as_json:
            whole = record(each, state, size, config)
            print_json(whole | _more(each, config))
        else:
            for label, text in _lines(each, state, size, config, home):
                sys.stdout.write(f"{label:<{WIDTH}} {terminal_text(text)}\n")
        return 0

    exit_with("mcp get", run)


def _more(each: ListedEntry, config: Config) -> dict[str, Any]:
    if each.entry is None:
        return {}
    return {
        "where": each.where,
        "env": _env(each, config),
        "variables": _variables(each, config),
        "fields": {name: value for name, value in each.entry.given.items() if name not in ("command", "args", "env")},
        "warnings": [each.entry.remark] if each.entry.remark else [],
    }


def _lines(
    each: ListedEntry, state: EntryState, size: DefinitionSize | None, config: Config, home: Path
) -> Iterator[tuple[str, str]]:
    yield "name", each.name if each.name == each.key else f"{each.name}, written {each.key}"
    yield "from", f"{each.where} ({each.scope.value})"
    yield "state", f"{state.word}: {state.why}" if state.why else state.word
    if each.entry is None:
        return
    server = each.entry.server
    yield "command line", command_line(each, config)
    for name, value in _env(each, config).items():
        yield "env", f"{name}={value}"
    for name, filled in _variables(each, config).items():
        yield "filled in", f"${{{name}}} becomes {'nothing: it is not set' if filled is None else filled}"
    yield "runs in", server.cwd or "the project's folder"
    yield "environment", f"{server.env_policy}, and its env"
    waits = each.entry.manifest_fields["timeouts"]
    yield "times", ", ".join(f"{name} {value:g} s" for name, value in waits.items()) or "as for all MCP servers"
    if server.include_tools is not None:
        yield "only tools", ", ".join(server.include_tools) or "none"
    if server.exclude_tools:
        yield "without tools", ", ".join(server.exclude_tools)
    yield (
        "definitions",
        f"unknown: it has not run yet; zot mcp test {each.name}"
        if size is None
        else definitions_text(size.tools, size.tokens),
    )
    if each.entry.remark:
        yield "warning", each.entry.remark
    yield "log", str(home / "logs" / f"ext-{each.name}.log")


def _env(each: ListedEntry, config: Config) -> dict[str, str]:
    """Its variables as they are written."""
    from cli.mcp.entries import hidden_value

    assert each.entry is not None
    return {name: hidden_value(name, str(value), config) for name, value in each.entry.server.env.items()}


def _variables(each: ListedEntry, config: Config) -> dict[str, str | None]:
    """The value of each variable in its texts; None if unset."""
    from cli.mcp.entries import HIDDEN
    from supervisor.discovery.environment import is_secret

    assert each.entry is not None
    values = {name: os.environ.get(name) for name in each.entry.server.variables}
    return {
        name: HIDDEN if value is not None and is_secret(name, config, value) else value
        for name, value in values.items()
    }
