"""Situations of MCP servers: their files, their starts, and `zot mcp`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.mcp_servers import server_argv
from tests.support.situations.stage import situation, situations

if TYPE_CHECKING:
    from tests.support.situations.stage import Stage


def file_of(stage: Stage, path: str = "servers.json", **entry: object) -> str:
    """A file with a server `notes`."""
    return str(stage.file(path, json.dumps({"mcpServers": {"notes": entry}})))


def faulty(stage: Stage, needed: tuple[str, dict[str, object]]) -> str:
    """The stderr of a run with a server that has this fault and is started once."""
    fault, fields = needed
    command, *args = server_argv(f"faulty.py {fault}")
    file = file_of(stage, command=command, args=args, restart={"policy": "temporary"}, **fields)
    return stage.answered("--ext-wait", "120", "--mcp-config", file).stderr


situations(
    faulty,
    {
        "zot: extension …: it refuses initialize: …": ("refuses-initialize", {}),
        "zot: extension …: it speaks version … of MCP; zot speaks …": ("old-version", {}),
        "zot: extension …: said no hello within …; it writes Content-Length headers, …": (
            "content-length",
            {"timeouts": {"hello": 2}},
        ),
        "zot: extension …: tool '…': schema must not have anyOf at the top: …": ("strange-tools", {}),
    },
)


@situation("zot: MCP server … of this project is not trusted (never seen): not started; …")
def not_trusted(stage: Stage) -> str:
    file_of(stage, ".mcp.json", command="true")
    return stage.answered().stderr


@situation("zot: MCP servers: …/.mcp.json:…: this is no JSON: …")
def no_json(stage: Stage) -> str:
    stage.file(".mcp.json", '{"mcpServers": {')
    return stage.answered().stderr


@situation("zot: MCP server …: …: it has an address and no command: only stdio servers can be run; …")
def on_the_network(stage: Stage) -> str:
    file_of(stage, ".mcp.json", url="https://example.com/mcp")
    return stage.answered().stderr


@situation("zot: MCP server …: …: the variable … is not set; …")
def without_a_variable(stage: Stage) -> str:
    file = file_of(stage, command="true", args=["${NOT_SET_ANYWHERE}"])
    return stage.answered("--mcp-config", file).stderr


@situation("zot: file … was named with --mcp-config, and cannot be loaded: …")
def no_file(stage: Stage) -> str:
    outcome = stage.answered("--mcp-config", "nowhere.json")
    assert outcome.status == 9
    return outcome.stderr


@situation("zot mcp add: … has a server '…' already; --force replaces it, …")
def added_twice(stage: Stage) -> str:
    stage.zot.run("mcp", "add", "notes", "true")
    return stage.zot.run("mcp", "add", "notes", "true").stderr
