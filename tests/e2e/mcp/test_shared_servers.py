"""MCP servers of a `zot host` for runs that attach to it: `"sessions": "shared"` in their entry, or `--share NAME`."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack

import pytest

from tests.support.host_process import hosting
from tests.support.mcp_servers import published, server_argv
from tests.support.messages_server import text_reply, tool_reply
from tests.support.rpc_client import end
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

REFERENCE = "reference.py --instructions Count.twice. --pages 2"
QUICK = {"policy": "transient", "backoff_s": [0.01, 0.05], "max": 50}


def servers_file(zot, fields, name="ref", file=REFERENCE):
    command, *args = server_argv(file)
    return write(zot.folder / "servers.json", **{name: {"command": command, "args": args, **fields}})


def write(file, **servers):
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@pytest.fixture(params=["", " --era modern"])
def host(request, zot):
    file = servers_file(zot, {"sessions": "shared", "restart": QUICK}, file=REFERENCE + request.param)
    with hosting(zot, flags=("--mcp-config", str(file))) as host:
        yield host


def run(host, server, *words):
    return host.zot.run("--host", str(host.pid), "--base-url", server.base_url, "--api-key", "k", *words)


def results(server, request=-1):
    """The texts of the results in a request to the model."""
    blocks = server.requests[request].body["messages"][-1]["content"]
    return ["".join(part["text"] for part in block["content"]) for block in blocks if block["type"] == "tool_result"]


def test_tools_instructions_and_calls_of_a_run(host, server):
    calls = [("mcp__ref__echo", {"text": "hello"}), ("mcp__ref__meta", {}), ("mcp__ref__add", {"a": 1, "b": 2})]
    server.add(tool_reply(calls), text_reply("Done."))
    outcome = run(host, server, "--json", "go")
    outcome.check(Status.OK)
    offered = {tool["name"] for tool in server.requests[0].body["tools"]}
    assert {"mcp__ref__echo", "mcp__ref__slow", "mcp__ref__meta"} <= offered
    assert "Count.twice." in json.dumps(server.requests[0].body["system"])
    said, meta, total = results(server)
    assert (said, json.loads(total)) == ("hello", {"sum": 3})
    meta = json.loads(meta)
    assert (meta["zot/sessionId"], meta["zot/cwd"]) == (outcome.result.session, str(host.zot.cwd))
    assert outcome.stderr == ""
    assert outcome.result.extensions["ref"].calls == 3


def test_prompts_are_commands(host, server):
    server.add(text_reply("Hello, Ada."))
    assert run(host, server, "-p", "/mcp__ref__greet Ada tone=warmly").text == "Hello, Ada.\n"
    assert "Greet Ada, warmly." in json.dumps(server.requests[0].body["messages"])


def test_a_run_that_ends_its_call_has_it_cancelled(host, server, rpc):
    server.add(tool_reply([("mcp__ref__slow", {})]))
    with rpc("--host", str(host.pid)) as running:
        running.client.send("prompt", message="go")
        running.client.until("tool_call")
        wait_until(lambda: host.stats()["ref"].pending)
        running.client.send("abort")
        assert running.client.until("result")["status"] == "interrupted"
        wait_until(lambda: not host.stats()["ref"].pending)
        assert len(json.loads(host.call("mcp__ref__cancelled"))) == 1
        end(running)


@pytest.mark.slow
def test_a_crash_and_the_restart(host, server, rpc):
    server.add(tool_reply([("mcp__ref__progress", {"steps": 9, "seconds": 600})]), text_reply("It has died."))
    with rpc("--host", str(host.pid)) as running:
        client = running.client
        client.send("prompt", message="go")
        client.until("tool_call")
        wait_until(lambda: host.stats()["ref"].pending)
        (pid,) = host.stats()["ref"].pids
        os.kill(pid, signal.SIGKILL)
        client.until("done")
        assert "signal SIGKILL" in results(server)[0]
        wait_until(lambda: client.ask("ext_stats")["data"]["extensions"]["ref"]["state"] == "ready")
        server.add(tool_reply([("mcp__ref__echo", {"text": "again"})]), text_reply("Done."))
        client.prompt("go on")
        assert results(server) == ["again"]
        outcome = end(running)
    assert "signal SIGKILL" in outcome.stderr
    assert "ready again, restart 1" in outcome.stderr


@pytest.mark.slow
def test_a_changed_list_reaches_all_runs(host, server, rpc):
    with ExitStack() as stack:
        one, two = (stack.enter_context(rpc("--host", str(host.pid))) for _ in range(2))
        server.add(tool_reply([("mcp__ref__grow", {"name": "leaf"})]), text_reply("Grown."))
        one.client.prompt("grow")

        def tools(running):
            return {tool["name"] for tool in running.client.ask("list_tools")["data"]["tools"]}

        for running in (one, two):
            wait_until(lambda running=running: "mcp__ref__leaf" in tools(running))
        server.add(tool_reply([("mcp__ref__leaf", {})]), text_reply("Done."))
        two.client.prompt("use it")
        assert results(server) == ["grown"]
        for running in (one, two):
            end(running)


def test_progress_extends_the_deadline_of_a_call(zot, server):
    file = servers_file(zot, {"sessions": "shared", "timeouts": {"tool_call": 1.0}})
    steps = {"steps": 4, "seconds": 0.5}
    with hosting(zot, flags=("--mcp-config", str(file))) as host:
        server.add(tool_reply([("mcp__ref__progress", steps), ("mcp__ref__slow", {})]), text_reply("Done."))
        outcome = run(host, server, "-p", "go")
        done, late = results(server)
        assert done == "4 steps"
        assert "no answer" in late or "within 1" in late
        assert outcome.status == 0
        assert host.stats()["ref"].timeouts == 1
        wait_until(lambda: len(json.loads(host.call("mcp__ref__cancelled"))) == 1)


def test_an_entry_of_the_project_is_shared_with_runs_of_the_project(zot, server):
    command, *args = server_argv(REFERENCE)
    write(zot.cwd / ".mcp.json", ref={"command": command, "args": args, "sessions": "shared"})
    with hosting(zot, flags=("--trust-project",)) as host:
        (pid,) = host.stats()["ref"].pids
        server.add(tool_reply([("mcp__ref__environment", {})]), text_reply("Done."))
        outcome = run(host, server, "--trust-project", "--json", "go")
        assert outcome.stderr == ""
        assert outcome.result.extensions["ref"].calls == 1
        assert host.stats()["ref"].pids == (pid,)
        assert host.stats()["ref"].calls == 1
        assert "ANTHROPIC_API_KEY" not in results(server)[0]


def test_share_names_a_server_whose_entry_says_nothing(zot, server):
    file = servers_file(zot, {})
    with hosting(zot, flags=("--mcp-config", str(file), "--share", "ref")) as host:
        server.add(tool_reply([("mcp__ref__echo", {"text": "hello"})]), text_reply("Done."))
        outcome = run(host, server, "--mcp-config", file, "-p", "go")
        assert (outcome.text, outcome.stderr, results(server)) == ("Done.\n", "", ["hello"])
        assert host.stats()["ref"].calls == 1


def test_a_leased_server_is_private_and_the_run_says_why(zot, server):
    file = servers_file(zot, {"sessions": "leased"})
    with hosting(zot, flags=("--mcp-config", str(file))) as host:
        server.add(tool_reply([("mcp__ref__meta", {})]), text_reply("Done."))
        outcome = run(host, server, "--mcp-config", file, "-p", "go")
        assert outcome.text == "Done.\n"
        (line,) = outcome.warnings
        assert "ref: an MCP server cannot be leased" in line
        assert host.stats()["ref"].calls == 0
        assert "zot/sessionId" not in results(server)[0]
        assert outcome.leftovers == []


@pytest.mark.slow
def test_published_servers_for_two_runs(zot, server):
    everything, memory = published("everything", "memory")
    entries = {
        name: {"command": argv[0], "args": argv[1:], "sessions": "shared", "timeouts": {"hello": 60}}
        for name, argv in (("everything", everything), ("memory", memory))
    }
    entries["memory"]["env"] = {"MEMORY_FILE_PATH": str(zot.folder / "memory.jsonl")}
    file = write(zot.folder / "servers.json", **entries)
    with hosting(zot, flags=("--mcp-config", str(file))) as host:
        ada = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
        server.add(tool_reply([("mcp__memory__create_entities", {"entities": [ada]})]), text_reply("Kept."))
        assert run(host, server, "-p", "keep").status == 0
        calls = [("mcp__memory__read_graph", {}), ("mcp__everything__echo", {"message": "hi"})]
        server.add(tool_reply(calls), text_reply("Done."))
        outcome = run(host, server, "-p", "read")
        graph, echo = results(server)
        assert "wrote the first program" in graph
        assert echo == "Echo: hi"
        assert (outcome.status, outcome.leftovers) == (0, [])
        assert host.stats()["memory"].exits == host.stats()["everything"].exits == 0
