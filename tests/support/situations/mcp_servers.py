"""Situations of MCP servers: their files, their starts, and `zot mcp`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.mcp_servers import server_argv
from tests.support.situations.stage import situation

if TYPE_CHECKING:
    from tests.support.situations.stage import Stage


def file_of(stage: Stage, path: str = "servers.json", **entry: object) -> str:
    """A file with a server `notes`."""
    return str(stage.file(path, json.dumps({"mcpServers": {"notes": entry}})))


def faulty(stage: Stage, fault: str, **fields: object) -> str:
    """What a run says of a server with this fault, which is started once."""
    command, *args = server_argv(f"faulty.py {fault}")
    file = file_of(stage, command=command, args=args, restart={"policy": "temporary"}, **fields)
    return stage.answered("--ext-wait", "120", "--mcp-config", file).stderr


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


@situation("zot: extension …: it refuses initialize: …")
def refuses(stage: Stage) -> str:
    return faulty(stage, "refuses-initialize")


@situation("zot: extension …: it speaks version … of MCP; zot speaks …")
def another_version(stage: Stage) -> str:
    return faulty(stage, "old-version")


@situation("zot: extension …: said no hello within …; it writes Content-Length headers, …")
def headers(stage: Stage) -> str:
    return faulty(stage, "content-length", timeouts={"hello": 2})


@situation("zot: extension …: tool '…': schema must not have anyOf at the top: …")
def a_tool_that_no_model_takes(stage: Stage) -> str:
    return faulty(stage, "strange-tools")


@situation("zot mcp add: … has a server '…' already; --force replaces it, …")
def added_twice(stage: Stage) -> str:
    stage.zot.run("mcp", "add", "notes", "true")
    return stage.zot.run("mcp", "add", "notes", "true").stderr


@situation("zot mcp serve: no zot host runs in …; start one there: zot host")
def no_host(stage: Stage) -> str:
    return stage.zot.run("mcp", "serve", "--host", stage.zot.cwd).stderr
