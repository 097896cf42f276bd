"""`zot mcp remove`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.dialogue import say
from cli.json_line import print_json
from cli.mcp.shared import OnlyScope, ServerName, shown
from cli.os_errors import UnableError, exit_with
from cli.parameters import Json

if TYPE_CHECKING:
    import typer


def register(app: typer.Typer) -> None:
    app.command("remove")(mcp_remove)
    app.command("rm", hidden=True)(mcp_remove)


def mcp_remove(name: ServerName, scope: OnlyScope = None, as_json: Json = False) -> None:
    """Take an MCP server out of its file, also a faulty one. The rest of the file stays as it is.

    A host that runs it goes on with it until a reload, or until the host ends.

    Exit status: 0 removed, 1 failed, 2 no server has that name, both files have it, or usage.

    Examples:
        zot mcp remove github                    wherever it is
        zot mcp remove github --scope project    only the one of .mcp.json
    """

    def run() -> int:
        from cli.mcp.file_edit import take_out
        from cli.mcp.reading.entries import named, read_entries
        from supervisor.home.zot_home import zot_home

        entries = read_entries(Path.cwd(), zot_home(), os.environ)
        if entries.faults and not entries.found:
            raise UnableError(entries.faults[0])
        matching = named(name, entries.found, scope)
        if len({each.scope for each in matching}) > 1:
            listed = ", ".join(f"{each.file} (--scope {each.scope.value})" for each in matching)
            raise CommandLineError(f"{shlex.quote(name)} is in both files: {listed}; say which")
        (each, *_) = matching
        take_out(each.file, each.scope, each.key)
        if as_json:
            print_json({"action": "removed", "name": each.name, "scope": each.scope.value, "file": str(each.file)})
        else:
            say(f"removed {shown(each.name, 200)} from {each.file}")
        return 0

    exit_with("mcp remove", run)
