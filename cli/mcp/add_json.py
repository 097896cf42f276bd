"""`zot mcp add-json`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cli.choices import CommandLineError
from cli.mcp.add import write_entry
from cli.mcp.shared import Force, McpScope, Scope, doing
from cli.parameters import Json

STDIN = "-"
LONGEST = 1024 * 1024
"""Bytes of an entry on stdin."""


def register(app: typer.Typer) -> None:
    app.command("add-json")(mcp_add_json)


def mcp_add_json(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the server here.")],
    entry: Annotated[
        str, typer.Argument(metavar="JSON", help="The entry, as other programs have it; - reads it from stdin.")
    ],
    scope: Scope = McpScope.user,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write an MCP server whose entry is JSON already, with any fields.

    Exit status: 0 added, 1 the name is taken, or the file has a fault, 2 usage.

    Examples:
        zot mcp add-json time '{"command": "uvx", "args": ["mcp-server-time"]}'
        jq '.mcpServers.github' ../other/.mcp.json | zot mcp add-json github -
    """
    doing("add-json", lambda: write_entry(name, _fields(entry), scope, force=force, as_json=as_json))


def _fields(text: str) -> dict[str, Any]:
    import msgspec

    from wire.lenient_json import UNREADABLE, fault_of
    from wire.settings.mcp_file import plain_json

    where, data = "the entry", text.encode("utf-8", "replace")
    if text == STDIN:
        if sys.stdin is None:
            raise CommandLineError("-: stdin is closed")
        where, data = "stdin", sys.stdin.buffer.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise CommandLineError(f"stdin: more than {LONGEST} bytes are no entry")
    plain = plain_json(data)
    try:
        fields = msgspec.json.decode(plain)
    except UNREADABLE as error:
        what, place = fault_of(plain, error)
        at = "" if place is None else f":{place.line}:{place.column}"
        raise CommandLineError(f"{where}{at}: this is no JSON: {what}") from None
    if not isinstance(fields, dict):
        raise CommandLineError(f'{where}: an entry is an object, {{"command": …}}')
    return fields
