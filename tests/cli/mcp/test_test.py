"""`zot mcp test`: a server under the real supervisor, once."""

from __future__ import annotations

import json

import pytest

from supervisor.registry.definition_size import LARGE
from tests.cli.mcp.conftest import entry, write
from tests.support.zot_fork import run


def test_a_sound_server_is_told_of_and_stopped(zot, server):
    write(zot.home / "mcp.json", small=entry(server))
    told = run(zot, "mcp", "test", "small")
    assert (told.status, told.stderr) == (0, "")
    for text in (
        "small         ready in ",
        "speaks        MCP 2025-06-18\n",
        "server        small-server 3.1\n",
        "times         said hello after ",
        "instructions  Ask it nicely.\n",
        "  mcp__small__say   ",
        "1 prompt:\n  /mcp__small__greet  Greets.",
        "its last lines on stderr:\n  line one\n  line two\n",
    ):
        assert text in told.text
    assert "warnings:\n" in told.text
    assert "models take it only inside a property; the tool is skipped" in told.text
    (line,) = run(zot, "mcp", "list", "--json").json_lines
    (tested,) = run(zot, "mcp", "test", "small", "--json").json_lines
    assert (line["tools"], line["definition_tokens"]) == (2, tested["definition_tokens"])
    assert tested["definition_tokens"] == sum(tool["tokens"] for tool in tested["tools"]) > 0
    assert (tested["ok"], tested["protocol"], tested["version"]) == (True, "MCP 2025-06-18", "3.1")
    assert 0 < tested["hello_s"] <= tested["ready_s"]
    assert tested["rss_bytes"] > 2**20
    assert f"definitions   2 tools, about {line['definition_tokens']} tokens" in run(zot, "mcp", "get", "small").text


@pytest.mark.parametrize(("tool", "status"), [("say", 0), ("mcp__small__say", 0), ("fail", 1), ("none", 1)])
def test_a_call(zot, server, tool, status):
    zot.env["HELD"] = "held-"
    write(zot.home / "mcp.json", small=entry(server, env={"TOKEN": "${HELD}"}))
    told = run(zot, "mcp", "test", "small", "--call", tool, "--args", '{"a": 1}', "--json")
    assert told.status == status
    call = told.json_lines[0]["call"]
    if tool == "none":
        assert call["failure"].startswith("it has no tool 'none'; there are mcp__small__say, mcp__small__fail")
    else:
        assert call["result"][0]["text"] == 'held-{"a": 1}'
        assert call["is_error"] is (tool == "fail")


@pytest.mark.parametrize(
    ("word", "flags", "said"),
    [
        ("die", [], "it exited before its hello (exit 1)"),
        ("mute", ["--timeout", "300ms"], "not ready within 0.3 s; it has not answered initialize"),
    ],
)
def test_one_that_does_not_start_fails(zot, server, word, flags, said):
    write(zot.home / "mcp.json", small=entry(server, word))
    told = run(zot, "mcp", "test", "small", *flags)
    assert told.status == 1
    assert f"small         failed: {said}" in told.text
    assert "line two" in told.text


def test_large_definitions_are_warned_of(zot, server):
    write(zot.home / "mcp.json", small=entry(server, "large"))
    (record,) = run(zot, "mcp", "test", "small", "--json").json_lines
    assert record["definition_tokens"] > LARGE
    assert any("tokens of every request" in warning for warning in record["warnings"])


def test_one_of_a_project_has_to_be_trusted(zot, server):
    write(zot.cwd / ".mcp.json", small=entry(server))
    refused = run(zot, "mcp", "test", "small")
    assert (refused.status, refused.stdout) == (1, b"")
    assert refused.stderr == "zot mcp test: small is not trusted (never seen): zot ext trust small\n"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--args", "{}"], "add --call TOOL"),
        (["--call", "x", "--args", "["], "--args:1:2: not JSON"),
        (["--timeout", "0"], "leaves no time"),
    ],
)
def test_misuse(zot, server, flags, said):
    write(zot.home / "mcp.json", small=entry(server))
    refused = run(zot, "mcp", "test", "small", *flags)
    assert (refused.status, said in refused.stderr) == (2, True)


def test_an_entry_that_cannot_be_started_is_refused(zot):
    write(zot.home / "mcp.json", poor={"command": "sh", "args": ["${NOT_SET_ANYWHERE}"]}, bad={"command": 3})
    for name, said in (("poor", "the variable NOT_SET_ANYWHERE is not set"), ("bad", "command")):
        refused = run(zot, "mcp", "test", name)
        assert (refused.status, said in refused.stderr) == (1, True)


def test_the_figures_of_a_run_are_in_json(zot, server):
    write(zot.home / "mcp.json", small=entry(server))
    assert run(zot, "mcp", "test", "small").status == 0
    kept = json.loads((zot.home / "definitions.json").read_text())["extensions"]
    assert [(one["name"], one["tools"]) for one in kept] == [("small", 2)]
    assert kept[0]["place"] == str(zot.home / "mcp.json" / "small")


def test_what_was_seen_is_in_the_lists_of_extensions_too(zot, server):
    write(zot.home / "mcp.json", small=entry(server))
    (tested,) = run(zot, "mcp", "test", "small", "--json").json_lines
    (listed,) = run(zot, "ext", "list", "--json").json_lines
    (told,) = run(zot, "ext", "info", "small", "--json").json_lines
    assert told["data_dir"] is None, "nobody tells it of a data folder"
    assert "\ndata " not in run(zot, "ext", "info", "small").text
    for known in (listed, told):
        assert (known["tools"], known["definition_tokens"]) == (2, tested["definition_tokens"])
