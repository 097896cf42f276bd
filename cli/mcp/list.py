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
from cli.mcp.shared import doing, shown
from cli.number_format import count_text
from cli.parameters import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer

    from cli.mcp.entries import Listed
    from supervisor.discovery.discover import Found
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

    The state says what a run would do with it: ok, disabled, faulty, hidden (the other file has the name, too), unset (a
    variable that it needs), or untrusted; below the table stands what is wrong, and where. "tools" and "tokens" are what a server offered when it last
    ran: about so many tokens of each request to the model are its definitions.

    Exit status: 0 listed, also if there is nothing; 1 a file cannot be read; 2 usage.

    Examples:
        zot mcp list                                         a table
        zot mcp list --json | jq -r 'select(.state == "ok") | .name'   names
    """
    doing("list", lambda: _run(as_json=as_json))


def _run(*, as_json: bool) -> int:
    from cli.mcp.entries import read_entries
    from supervisor.home.config import load_config
    from supervisor.home.zot_home import zot_home
    from supervisor.monitoring.definition_sizes import key_of, read_sizes

    home, project = zot_home(), Path.cwd()
    entries, config, sizes = read_entries(project, home, os.environ), load_config(home), read_sizes(home)

    def size_of(each: Listed) -> DefinitionSize | None:
        return sizes.get(key_of(each.name, each.place))

    for fault in entries.faults:
        say(f"zot mcp list: {shown(fault, 4000)}")
    if as_json:
        for each in entries.found:
            print_json(record(each, config, size_of(each), project, home))
    elif entries.found:
        _print_table(entries.found, config, size_of, project, home)
    elif not entries.faults:
        say("no MCP servers; zot mcp add NAME -- COMMAND adds one")
    return 1 if entries.faults else 0


def _print_table(
    found: tuple[Listed, ...],
    config: Config,
    size_of: Callable[[Listed], DefinitionSize | None],
    project: Path,
    home: Path,
) -> None:
    """What is wrong with an entry stands below the table."""
    rows, troubles = [COLUMNS], []
    for each in found:
        size = size_of(each)
        state, why = state_of(each, project, home)
        command = "-" if each.entry is None else shown(command_line(each, config), COMMAND)
        counts = ("-", "-") if size is None else (str(size.tools), count_text(size.tokens))
        rows.append((each.scope.value, shown(each.name, 200), state, *counts, command))
        if why:
            troubles.append(f"{shown(each.name, 200)}: {shown(why)}")
    width = page_width(widest=None) if sys.stdout.isatty() else None
    for line in [*fitted(rows, width, GIVES_WAY, RIGHT), *troubles]:
        sys.stdout.write(line + "\n")


def state_of(each: Listed, project: Path, home: Path) -> tuple[str, str]:
    """One or two words about what would happen at a start, and why it would not be started, if it would not."""
    if each.entry is None:
        return ("disabled", "") if each.is_disabled else ("faulty", f"{each.where}: {each.trouble}")
    if not each.is_enabled:
        return "disabled", ""
    if each.hidden_by is not None:
        return "hidden", f"{each.where}: {each.hidden_by} has a server of this name, which comes first"
    if each.trouble:
        return "unset", f"{each.where}: {each.trouble}"
    if why := distrust(each, project, home):
        return "untrusted", f"{why}: zot ext trust {shlex.quote(each.name)}"
    return "ok", ""


def distrust(each: Listed, project: Path, home: Path) -> str:
    """Why a run would not start it without a question; empty if it would."""
    from cli.mcp.shared import McpScope
    from supervisor.discovery.trust_store import TrustStore

    if each.scope is not McpScope.project:
        return ""
    judged = TrustStore(home).judge(found_of(each, project))
    return "" if judged.is_trusted else judged.reason or judged.standing.value


def found_of(each: Listed, project: Path) -> Found:
    """A usable entry as the extension that a run would start. Raises `McpError` if the file has just changed."""
    from supervisor.discovery.mcp.servers import expanded, read_servers

    from cli.mcp.shared import McpError, McpScope
    from supervisor.discovery.discover import Scope, Skipped

    scope = Scope.PROJECT if each.scope is McpScope.project else Scope.GLOBAL
    for found in read_servers(each.file, scope, project):
        if not isinstance(found, Skipped) and found.manifest.name == each.name:
            made = expanded(found, os.environ)
            if not isinstance(made, str):
                return made
            raise McpError(f"{each.where}: {made}")
    raise McpError(f"{each.file} has no server {each.name!r} any more")


def command_line(each: Listed, config: Config) -> str:
    """The command line as it is written, without secrets; empty for a faulty entry."""
    from cli.mcp.hiding import hidden_arguments

    if each.entry is None:
        return ""
    return shlex.join([each.entry.server.command, *hidden_arguments(each.entry.server.args, config)])


def record(each: Listed, config: Config, size: DefinitionSize | None, project: Path, home: Path) -> dict[str, Any]:
    """The object of one entry."""
    from cli.mcp.hiding import hidden_arguments

    state, why = state_of(each, project, home)
    server = None if each.entry is None else each.entry.server
    return {
        "name": each.name,
        "scope": each.scope.value,
        "file": str(each.file),
        "state": state,
        "why": why or None,
        "command": server and server.command,
        "args": None if server is None else hidden_arguments(server.args, config),
        "tools": size and size.tools,
        "definition_tokens": size and size.tokens,
    }
