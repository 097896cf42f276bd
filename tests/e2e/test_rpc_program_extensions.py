"""Extensions in the client program of a real `zot rpc`, with the real model worker, and beside real processes."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from tests.support.extension_folder import extension
from tests.support.late_imports import PROGRAM, late_imports
from tests.support.messages_server import text_reply, tool_reply
from tests.support.program_extension import ProgramExtension
from tests.support.rpc_client import end


def told(server):
    """The text of the results in the last request to the model."""
    return json.dumps(server.requests[-1].body["messages"][-1]["content"])


def test_tool_guard_command_and_observer_from_the_first_prompt_on(rpc, server, zot):
    server.add(tool_reply([("add", {"a": 1}), ("bash", {"command": "echo up"})]), text_reply("Done."))
    with rpc(
        "--ext", extension(zot.folder, "recorder", zot.folder / "seen"), "--stats", zot.folder / "stats"
    ) as running:
        client = running.client
        tool = ProgramExtension(client, "functions").with_tool().ready()
        guard = ProgramExtension(client, "policy", on_failure="deny")
        guard.say("subscribe", intercept=["tool_call"], events=["turn_end"])
        guard.ready()
        client.send("prompt", message="go")
        guard.verdict(guard.next("event_intercept"))
        call = tool.next("tool_call")
        tool.result(call, "2")
        guard_question = guard.next("event_intercept")
        guard.verdict(guard_question, block=True, reason="no shell here")
        client.until("done")
        costs = client.lines[-2]["extensions"]
        assert list(costs) == ["recorder", "functions", "policy"]
        assert (costs["functions"]["calls"], costs["policy"]["calls"], costs["policy"]["blocks"]) == (1, 2, 1)
        assert (costs["policy"]["cpu_ms"], costs["policy"]["rss_peak_bytes"]) == (0, 0)
        outcome = end(running)
    assert '"2"' in told(server)
    assert "no shell here" in told(server)
    assert "refused bash: no shell here" in outcome.stderr
    seen = [json.loads(line) for line in (zot.folder / "stats").read_text().splitlines()]
    last = [line for line in seen if line.get("type") == "stats"][-1]["extensions"]
    assert (last["policy"]["in_client"], last["recorder"]["in_client"]) == (True, False)


def test_other_programs_see_it_and_cannot_restart_it(rpc, zot):
    with rpc() as running:
        mine = ProgramExtension(running.client).with_tool().ready()
        mine.next("hello_ack")
        assert "in the client program" in zot.run("ext", "status", "mine").text
        shown = zot.run("ext", "stats", "mine").text
        assert "in the client program: its CPU time and memory are the program's own" in shown
        assert "pids" not in shown
        restarted = zot.run("ext", "restart", "mine")
        assert restarted.status == 1
        assert "only that program can restart it" in restarted.stderr
        reloaded = zot.run("ext", "reload", "mine")
        assert "only that program can restart it" in reloaded.text + reloaded.stderr
        assert mine.client.ask("ext_stats")["data"]["extensions"]["mine"]["state"] == "ready"
        end(running)


@pytest.mark.slow
def test_the_first_extension_of_a_server_imports_nothing(rpc, server, zot):
    report = zot.folder / "late-imports"
    zot.command = [sys.executable, str(PROGRAM), str(report)]
    server.add(tool_reply([("add", {"a": "no number"}), ("add", {"a": 1})]), text_reply("Done."))
    with rpc() as running:
        client = running.client
        near_miss = {"type": "hello", "name": "mine"}, {"on_failur": "deny"}
        refused = client.ask("ext", extension="mine", frame=near_miss[0], manifest=near_miss[1])
        assert "did you mean 'on_failure'" in refused["error"]
        mine = ProgramExtension(client, on_failure="deny", unheard_of=1).with_tool().guarding("tool_call").ready()
        mine.say("dance")
        client.send("prompt", message="go")
        for _ in range(2):
            mine.verdict(mine.next("event_intercept"))
        mine.result(mine.next("tool_call"), "2")
        client.until("done")
        mine.close()
        ProgramExtension(client).ready().next("hello_ack")
        end(running)
    assert late_imports(report) == {}


def test_a_signal_says_shutdown_to_it(rpc):
    with rpc() as running:
        mine = ProgramExtension(running.client).ready()
        running.client.ask("ping")
        running.signal(signal.SIGTERM)
        assert mine.next("shutdown") == {"type": "shutdown"}
        assert mine.until_closed() == "the host stops"
        assert running.finish().status == 130


def test_a_flood_of_frames_delays_no_abort(rpc, server):
    server.add(tool_reply([("add", {})]))
    with rpc() as running:
        client = running.client
        tool = ProgramExtension(client).with_tool().ready()
        client.send("prompt", message="go")
        call = tool.next("tool_call")
        frame = json.dumps({"type": "ext", "extension": "mine", "frame": {"type": "notify", "message": "x"}}).encode()
        client.send_bytes((frame + b"\n") * 2000)
        tool.say("tool_progress", id=call["id"], text="on")
        client.send("abort")
        assert client.until("result")["status"] == "interrupted"
        stats = client.ask("ext_stats")["data"]["extensions"]["mine"]
        assert stats["notes_dropped"] > 0
        end(running)
