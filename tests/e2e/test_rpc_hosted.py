"""`zot rpc --host` and `pyzot` with `host=`: extensions of a host beside those of the run and of its program."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from pyzot import AsyncRuntime, CommandOutcome, Runtime
from tests.support.extension_folder import extension
from tests.support.host_process import hosting
from tests.support.messages_server import text_reply, tool_reply
from tests.support.program_extension import ProgramExtension
from tests.support.rpc_client import end
from tests.support.zot_process import wait_until

PROMPTS = 50


@pytest.fixture
def record(zot):
    (zot.folder / "record").touch()
    return zot.folder / "record"


@pytest.fixture(params=["leased", "shared"])
def host(request, zot, record):
    how = {"sessions": request.param, "on_failure": "deny", "restart": {"max": 50}}
    made = extension(zot.folder, "lease_holder.py", record, name="hosted", **how)
    with hosting(zot, made) as host:
        yield host


def told(server):
    """The results in the last request to the model."""
    return json.dumps(server.requests[-1].body["messages"][-1]["content"])


def sessions(record):
    """The sessions that the extension was told of, with the kind of event, but for the host's own."""
    events = [json.loads(line) for line in record.read_text().splitlines() if '"event": "session_' in line]
    return [(each["event"], each.get("reason"), each["session_id"]) for each in events][1:]


def test_tools_commands_and_figures(host, server, rpc):
    with rpc("--host", str(host.pid)) as running:
        client = running.client
        wait_until(lambda: "do" in json.dumps(client.ask("list_tools")))
        tools = {tool["name"]: tool for tool in client.ask("list_tools")["data"]["tools"]}
        assert tools["do"]["extension"] == "hosted"
        commands = {command["name"] for command in client.ask("list_commands")["data"]["commands"]}
        assert "who" in commands
        shown = client.ask("run_command", name="/who")["data"]["text"]
        assert int(shown) in host.stats()["hosted"].pids
        server.add(tool_reply([("do", {"do": "pid"})]), text_reply("Done."))
        records = client.prompt("go")
        assert shown in told(server)
        assert records[-2]["extensions"]["hosted"]["calls"] == 3, "the command, the verdict, the call"
        stats = client.ask("ext_stats")["data"]["extensions"]["hosted"]
        assert (stats["state"], stats["calls"], stats["pids"]) == ("ready", 3, [])
        assert end(running).stderr == ""


@pytest.mark.slow
def test_a_guard_of_the_host_asks_the_person_of_the_run(host, server, rpc):
    with rpc("--host", str(host.pid)) as running:
        client = running.client
        assert client.ask("hello", permissions=True)["success"]
        server.add(tool_reply([("read", {"path": "secret"})] * 2), text_reply("Done."))
        client.send("prompt", message="go")
        asked = client.until("permission_asked")
        assert (asked["extension"], asked["reason"], asked["args"]) == ("hosted", "secret", {"path": "secret"})
        assert client.ask("allow", permission=asked["id"])["success"]
        asked = client.until("permission_asked")
        assert client.ask("deny", permission=asked["id"], reason="once is enough")["success"]
        client.until("done")
        first, second = server.requests[-1].body["messages"][-1]["content"]
        assert "the user refused" not in json.dumps(first)
        assert "the user refused: once is enough (guard hosted asked: secret)" in json.dumps(second)
        end(running)


def test_an_abort_cancels_the_question_of_a_guard_of_the_host(host, server, rpc):
    with rpc("--host", str(host.pid)) as running:
        client = running.client
        client.ask("hello", permissions=True)
        server.add(tool_reply([("read", {"path": "secret"})]), text_reply("Again."))
        client.send("prompt", message="go")
        client.until("permission_asked")
        client.ask("abort")
        assert client.until("permission_answered")["decision"] == "cancelled"
        client.until("done")
        assert client.prompt("again")[-2]["text"] == "Again."
        end(running)


def test_a_switch_of_the_session_ends_the_one_and_starts_the_other(host, server, rpc, record):
    with rpc("--host", str(host.pid), "--save-session") as running:
        client = running.client
        server.add(text_reply("One."))
        first = client.prompt("go")[-2]["session"]
        client.ask("clear")
        server.add(tool_reply([("do", {"do": "pid"})]), text_reply("Two."))
        second = client.prompt("go")[-2]["session"]
        assert client.ask("resume", session=first)["success"]
        server.add(tool_reply([("do", {"do": "note", "text": "to the first", "session": first})]), text_reply("Three."))
        again = client.prompt("go")
        assert [each["message"] for each in client.lines if each["type"] == "ext_notify"] == ["to the first"]
        assert again[-2]["session"] == first
        outcome = end(running)
    assert outcome.stderr == "[hosted] info: to the first\n"
    wait_until(lambda: len(sessions(record)) == 6)
    assert sessions(record) == [
        ("session_start", None, first),
        ("session_end", "session_switch", first),
        ("session_start", None, second),
        ("session_end", "session_switch", second),
        ("session_start", None, first),
        ("session_end", "shutdown", first),
    ]
    calls = [json.loads(line) for line in record.read_text().splitlines() if '"type": "tool_call"' in line]
    assert [each["session_id"] for each in calls] == [second, first]


def test_reloads_and_restarts_name_the_command_of_the_host(host, rpc):
    with rpc("--host", str(host.pid)) as running:
        client = running.client
        wait_until(lambda: "do" in json.dumps(client.ask("list_tools")))
        reloaded = client.ask("reload_ext", name="hosted")["data"]
        wanted = f"it runs in host {host.pid}: zot ext reload hosted --host {host.pid}"
        assert reloaded["errors"] == [{"name": "hosted", "reason": wanted}]
        reloaded = host.zot.run("ext", "reload", "hosted", "--host", str(running.pid))
        assert (reloaded.status, wanted in reloaded.text) == (1, True)
        restarted = host.zot.run("ext", "restart", "hosted", "--host", str(running.pid))
        assert restarted.status == 1
        assert f"zot ext restart hosted --host {host.pid}" in restarted.stderr
        everything = client.ask("reload_ext")
        assert (everything["data"]["loaded"], everything["data"]["errors"]) == ([], [])
        status = host.zot.run("ext", "status", "hosted", "--host", str(running.pid))
        assert status.status == 0
        assert "hosted: ready" in status.text
        end(running)


@pytest.mark.slow
def test_watch_leaves_the_files_of_hosted_extensions_alone(host, rpc, zot):
    own = extension(zot.folder, "echo", name="own")
    with rpc("--host", str(host.pid), "--ext", own, "--watch") as running:
        client = running.client
        before = host.stats()["hosted"].pids
        hosted = zot.folder / "ext-hosted" / "more.py"
        wait_until(lambda: {"do", "echo"} <= {tool["name"] for tool in client.ask("list_tools")["data"]["tools"]})

        for file in (hosted, own / "more.py"):
            file.write_text("x = 1\n")
        wait_until(lambda: "extension own: reload 1: " in running.errors())
        assert "hosted" not in running.errors()
        assert host.stats()["hosted"].pids == before
        end(running)


@pytest.mark.slow
def test_extensions_of_the_run_and_of_its_program_beside_a_hosted_one(host, server, rpc, zot):
    own = extension(zot.folder, "echo", name="own")
    with rpc("--host", str(host.pid), "--ext", own) as running:
        mine = ProgramExtension(running.client).with_tool().ready()
        calls = [("do", {"do": "pid"}), ("echo", {"text": "of the run"}), ("add", {"a": 1})]
        server.add(tool_reply(calls), text_reply("Done."))
        running.client.send("prompt", message="go")
        mine.result(mine.next("tool_call"), "of the program")
        running.client.until("done")
        said = told(server)
        assert "of the run" in said
        assert "of the program" in said
        assert str(host.stats()["hosted"].pids[0]) in said
        costs = next(line for line in reversed(running.client.lines) if line["type"] == "result")["extensions"]
        assert set(costs) == {"hosted", "own", "mine"}
        assert end(running).leftovers == []


@pytest.mark.slow
def test_a_hosted_tool_calls_a_tool_of_the_run(host, server, rpc, zot):
    (zot.cwd / "a").write_text("content of a")
    with rpc("--host", str(host.pid)) as running:
        server.add(tool_reply([("do", {"do": "call", "for": "call"})]), text_reply("Done."))
        running.client.prompt("go")
        assert "content of a" in told(server)
        end(running)


@pytest.mark.slow
def test_many_prompts_leave_nothing_behind(host, server, rpc):
    with rpc("--host", str(host.pid)) as running:
        client = running.client
        for number in range(PROMPTS):
            server.add(tool_reply([("do", {"do": "pid"})]), text_reply("Done."))
            assert client.prompt(f"go {number}")[-2]["status"] == "ok"
            if number == PROMPTS // 5:
                before = open_files(host.pid) + open_files(running.pid)
        assert open_files(host.pid) + open_files(running.pid) < before + PROMPTS // 10
        stats = host.stats()["hosted"]
        assert (stats.pending, stats.errors, len(stats.pids)) == (0, 0, 1)
        assert stats.calls == 2 * PROMPTS
        assert client.ask("ext_stats")["data"]["extensions"]["hosted"]["pending"] == 0
        end(running)
    assert len(host.stats()["hosted"].pids) == 1


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


# --- pyzot -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def options(host, server):
    env = {"ZOT_HOME": str(host.zot.home), "ZOT_TEST_UNSET": "1"}
    return {"base_url": server.base_url, "api_key": "k", "cwd": host.zot.cwd, "env": env, "host": str(host.pid)}


def test_a_runtime_uses_the_extensions_of_a_host(host, server, options, record):
    with Runtime(**options) as runtime:
        server.add(tool_reply([("do", {"do": "pid"})]), text_reply("Done."))
        first = runtime.run("go")
        assert (first.text, first.extensions["hosted"].calls) == ("Done.", 2)
        shown = runtime.command("/who")
        assert isinstance(shown, CommandOutcome)
        assert "do" in {tool.name for tool in runtime.tools()}
        assert int(shown.text or "") in host.stats()["hosted"].pids
        runtime.clear()
        server.add(text_reply("Again."))
        assert runtime.run("go").text == "Again."
    wait_until(lambda: len(sessions(record)) == 4)
    assert [event for event, *_ in sessions(record)] == ["session_start", "session_end"] * 2


@pytest.mark.slow
def test_an_async_runtime_uses_the_extensions_of_a_host(host, server, options):
    async def program():
        async with AsyncRuntime(**options) as runtime:
            server.add(tool_reply([("do", {"do": "pid"})]), text_reply("Done."))
            result = await runtime.run("go")
            assert "do" in {tool.name for tool in await runtime.tools()}
            return result

    result = asyncio.run(program())
    assert (result.text, result.extensions["hosted"].calls) == ("Done.", 2)
    assert str(host.stats()["hosted"].pids[0]) in told(server)
