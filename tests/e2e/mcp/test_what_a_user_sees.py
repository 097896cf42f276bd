"""Servers of a file that cannot be used, as the user of a run sees them: each in a line with its cause, and the run
goes on without them."""

from __future__ import annotations

import json

import pytest

from tests.support.mcp_servers import server_argv
from tests.support.messages_server import text_reply


def servers_file(zot, **servers):
    entries = {
        name: {"command": argv[0], "args": argv[1:], "restart": {"policy": "temporary"}} | fields
        for name, (argv, fields) in servers.items()
    }
    file = zot.folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return file


SHORT = {"timeouts": {"hello": 2.5}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "fields", "words"),
    [
        ("dies-at-import", {}, "No module named 'mcp_of_last_year'"),
        ("usage", {}, "usage: missing argument: directory"),
        ("refuses-initialize", {}, "EXAMPLE_TOKEN is not set"),
        ("old-version", {}, "it speaks version '1999-01-01' of MCP"),
        ("content-length", SHORT, "it writes Content-Length headers"),
    ],
)
def test_the_cause_is_in_one_line_and_the_run_goes_on(zot, server, fault, fields, words):
    server.add(text_reply("Done."))
    file = servers_file(
        zot, bad=(server_argv(f"faulty.py {fault}"), fields), good=(server_argv("reference.sh"), {"required": True})
    )
    outcome = zot.run("--base-url", server.base_url, "--mcp-config", file, "-p", "go")
    assert (outcome.status, outcome.text, outcome.leftovers) == (0, "Done.\n", [])
    (line,) = [line for line in outcome.warnings if words in line]
    assert "bad" in line
    assert "ext-bad.log" in line, "where to read on"
    assert [line for line in outcome.warnings if "good" in line] == []
    offered = {tool["name"] for tool in server.requests[0].body["tools"]}
    assert "mcp__good__echo" in offered
