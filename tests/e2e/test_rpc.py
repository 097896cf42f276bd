"""`zot rpc` as its clients start it: a process of its own, with the real model worker, tools and extensions."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress

import pytest

from tests.support.extension_folder import extension
from tests.support.messages_server import hold_first_byte, stall_midway, text_reply, tool_reply
from tests.support.replay_script import Script
from tests.support.rpc_client import end
from tests.support.zot_process import wait_until
from wire import events

SECRET = "s3cret-of-the-client"
STALLED = stall_midway(text_reply("Once upon a time"), after=4)
"""A reply of which the first piece of text comes, and then no more."""


@pytest.fixture
def replayed(zot, rpc):
    """A server whose model answers `Done.` to the prompt `go`."""
    return lambda *flags, **popen: rpc(
        "--replay", Script(zot.cwd).answer("Done.").write(zot.folder / "cassette.jsonl"), *flags, **popen
    )


def test_hello_state_prompt_and_abort(replayed, zot):
    with replayed() as running:
        client = running.client
        greeting = client.ask("hello")["data"]
        assert (greeting["protocol_version"], greeting["provider"]) == (1, "replay")
        assert client.until("session")["cwd"] == str(zot.cwd)
        assert client.ask("abort")["success"]
        records = client.prompt("go")
        for line in records:
            events.decode(json.dumps(line).encode())
        assert [line["type"] for line in records][-3:] == ["turn_end", "result", "done"]
        state = client.ask("get_state")["data"]
        assert (state["message_count"], state["busy"], state["cwd"]) == (2, False, str(zot.cwd))
        outcome = end(running)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert zot.session_files() == []


@pytest.mark.parametrize("stdin", ["null", "file"])
def test_stdin_may_be_a_file(zot, tmp_path, stdin):
    (tmp_path / "requests").write_text('\n{"type":"ping","id":1}\n\n{"type":"pi')
    cassette = Script(zot.cwd).answer("Done.").write(zot.folder / "cassette.jsonl")
    with open(os.devnull if stdin == "null" else tmp_path / "requests", "rb") as given:
        outcome = zot.run("--rpc", "--replay", cassette, stdin=given)
    assert outcome.status == 0
    answers = [line for line in outcome.json_lines if line["type"] == "response"]
    assert [(line["command"], line["success"]) for line in answers] == (
        [] if stdin == "null" else [("ping", True), ("", False)]
    )


def test_an_abort_while_the_model_is_silent(rpc, server):
    server.add(hold_first_byte(text_reply("One.")), text_reply("Two."))
    with rpc() as running:
        client = running.client
        client.ask("prompt", message="first")
        client.until("turn_start")
        server.wait_until_held()
        client.ask("abort")
        assert client.until("result")["status"] == "interrupted"
        assert client.prompt("second")[-2]["text"] == "Two."
        end(running)


@pytest.mark.slow
def test_no_child_has_the_token(rpc, server, zot):
    server.add(tool_reply([("bash", {"command": "env"}), ("env", {})]), text_reply("Done."))
    made = extension(zot.folder, "env_dump")
    env = {"ZOTCORE_RPC_TOKEN": SECRET}
    with rpc("-e", made, env=env, cold=True) as running:
        client = running.client
        assert client.ask("hello", token=SECRET)["success"]
        client.prompt("go")
        worker = running.find_child("model/worker/worker_main")
        with open(f"/proc/{worker}/environ", "rb") as environ:
            assert SECRET.encode() not in environ.read()
        outcome = end(running)
    assert outcome.status == 0
    assert SECRET not in json.dumps(client.lines)
    told = [line["content"][0]["text"] for line in client.lines if line["type"] == "tool_result"]
    assert "PATH=" in told[0]
    assert '"PATH"' in told[1]
    assert "ZOTCORE_RPC_TOKEN" not in "".join(told)


@pytest.mark.parametrize(
    ("first", "answers", "said"),
    [
        ({"type": "hello", "token": "guess", "id": "h"}, [("h", False, "invalid token")], "ZOTCORE_RPC_TOKEN"),
        (None, [], "stdin has ended before a line with the token"),
    ],
    ids=["wrong", "none"],
)
def test_a_wrong_token_or_none_ends_the_server(replayed, first, answers, said):
    with replayed(env={"ZOTCORE_RPC_TOKEN": SECRET}) as running:
        if first is not None:
            running.client.send(first.pop("type"), **first)
            running.client.until("response")
        outcome = end(running)
    assert [(line["id"], line["success"], line["error"]) for line in running.client.lines] == answers
    assert outcome.status == 1
    assert said in outcome.stderr
    assert SECRET not in outcome.stderr


def test_a_wrong_flag_is_a_usage_error(zot):
    assert "rpc takes no prompt: 'go'" in zot.run("rpc", "go").refusal()
    assert "--no-stdin" in zot.run("rpc", "--no-stdin").refusal()
    assert "choose one of" in zot.run("rpc", "--json").refusal()
    assert "--drain-timeout has no effect without --rpc" in zot.run("-p", "--drain-timeout", "3", "go").refusal()
    assert "--modle" in zot.run("rpc", "--modle", "m").refusal()


def test_a_reload_that_a_signal_ends_is_answered(replayed, zot):
    made = extension(zot.folder, "commands")
    with replayed("-e", made) as running:
        client = running.client
        client.ask("ping")
        client.until("extension", event="started")
        manifest = json.loads((made / "extension.json").read_text())
        (made / "extension.json").write_text(json.dumps({**manifest, "exec": "/bin/sh", "args": ["-c", "sleep 600"]}))
        client.send("reload_ext", id="r")
        client.ask("ping")
        running.signal(signal.SIGTERM)
        answer = client.until("response", id="r")
        outcome = running.finish()
    assert "stopping" in json.dumps(answer)
    assert (outcome.status, outcome.leftovers) == (130, [])


# --- clients that misbehave -----------------------------------------------------------------------------------


def test_garbage_is_answered_and_the_connection_goes_on(replayed):
    with replayed() as running:
        client = running.client
        client.send_bytes(b'garbage\n\xff\xfe\n[]\n{"type":"ping"\n\n{"id":{},"type":"ping"}\n')
        client.send_bytes(b'{"type":"ping","id":"big","x":"' + b"x" * (17 << 20) + b'"}\n')
        client.send_bytes(b'{"type":"ping","id":8.50,"x":"' + b"x" * (17 << 20) + b'"}\n')
        client.send("ping", id="after")
        client.until("response", id="after")
        end(running)
    answers = [line for line in client.lines if line["type"] == "response"]
    assert [line["success"] for line in answers] == [False] * 7 + [True]
    for answer, id_ in zip(answers[5:7], ("big", 8.5), strict=True):
        assert (answer["id"], answer["command"]) == (id_, "ping")
        assert "over the limit of 16 MiB" in answer["error"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_prompts_in_order(rpc, server, number):
    server.add(STALLED)
    with rpc() as running:
        client = running.client
        client.ask("prompt", message="a")
        client.ask("prompt", message="b")
        client.until("text_delta")
        running.signal(number)
        lines = client.rest()
        outcome = running.finish()
    assert [line["prompt"] for line in lines if line["type"] == "done"] == ["p1", "p2"]
    assert {line["error"] for line in lines if line["type"] == "turn_end"} == {f"interrupted by {number.name}"}
    assert (outcome.status, outcome.leftovers) == (130, [])


@pytest.mark.parametrize("moment", ["starting", "streaming", "tool"])
def test_a_killed_server_leaves_nothing(rpc, server, zot, moment):
    running_tool = tool_reply([("bash", {"command": "echo up; exec sleep 300"})])
    server.add(running_tool if moment == "tool" else STALLED)
    made = extension(zot.folder, "echo")
    with rpc("-e", made) as running:
        client = running.client
        client.ask("ping")
        if moment != "starting":
            client.ask("prompt", message="go")
            client.until("tool_progress" if moment == "tool" else "text_delta")
        running.process.kill()
        with suppress(EOFError):
            client.rest()
        running.process.wait()
        running._wait_for_reaper()
        assert wait_until(lambda: not running.finish().leftovers)


# --- beside it --------------------------------------------------------------------------------------------------


def test_other_programs_see_the_server_and_can_stop_it(replayed, zot):
    with replayed() as running:
        running.client.ask("ping")
        running.client.until("session")
        shown = zot.run("ps", "--json")
        assert str(running.pid) in shown.text
        assert zot.run("stop", str(running.pid)).status == 0
        assert running.finish().status == 130


def test_stats_have_all_prompts(rpc, server, zot):
    server.add(text_reply("One."), text_reply("Two."))
    with rpc("--stats", zot.folder / "stats") as running:
        running.client.prompt("first")
        assert running.client.prompt("second")[-2]["text"] == "Two."
        cumulative = [line["cumulative"]["input"] for line in running.client.lines if line["type"] == "usage"]
        end(running)
    assert [len(received.body["messages"]) for received in server.requests] == [1, 3]
    run = [json.loads(line) for line in (zot.folder / "stats").read_text().splitlines() if '"run"' in line]
    last = [line for line in run if line.get("type") == "run"][-1]
    assert (last["steps"], last["input"], last["status"]) == (2, cumulative[-1], "ok")


# --- the model worker -------------------------------------------------------------------------------------------


def is_waiting_for(running, before):
    """Whether a model worker runs that is not `before`."""
    return lambda: running.find_child("model/worker/worker_main") not in (None, before)


@pytest.mark.slow
def test_after_an_abort_another_model_worker_waits_for_the_next_prompt(rpc, server):
    server.add(STALLED, text_reply("Two."))
    with rpc(cold=True) as running:
        client = running.client
        client.ask("prompt", message="first")
        client.until("text_delta")
        first = running.find_child("model/worker/worker_main")
        client.ask("abort")
        client.until("done")
        assert wait_until(is_waiting_for(running, first))
        second = running.find_child("model/worker/worker_main")
        assert client.prompt("second")[-2]["text"] == "Two."
        assert running.find_child("model/worker/worker_main") == second
        outcome = end(running)
    assert (outcome.status, outcome.leftovers) == (0, [])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_model_worker_outlives_the_server_that_has_just_started_it(rpc, server, number):
    server.add(STALLED)
    with rpc(cold=True) as running:
        client = running.client
        client.ask("prompt", message="first")
        client.until("text_delta")
        first = running.find_child("model/worker/worker_main")
        client.ask("abort")
        client.until("done")
        assert wait_until(is_waiting_for(running, first))
        running.signal(number)
        with suppress(EOFError):
            client.rest()
        running.process.wait()
        if number == signal.SIGKILL:
            running._wait_for_reaper()
        assert wait_until(lambda: not running.finish().leftovers)


@pytest.mark.slow
def test_a_model_worker_that_dies_between_prompts_is_started_again(rpc, server):
    server.add(text_reply("One."), text_reply("Two."))
    with rpc(cold=True) as running:
        running.client.prompt("first")
        first = running.find_child("model/worker/worker_main")
        os.kill(first, signal.SIGKILL)
        assert wait_until(is_waiting_for(running, first))
        assert running.client.prompt("second")[-2]["text"] == "Two."
        assert end(running).status == 0


# --- a compaction -----------------------------------------------------------------------------------------------


def test_a_compaction_is_recorded_and_replayed(zot, rpc, server):
    def talk(*flags):
        with rpc(*flags) as running:
            client = running.client
            for text in ("first", "second", "third"):
                client.prompt(text)
            client.ask("compact")
            done = client.until("compact_done")
            client.until("done")
            end(running)
        return done["summary"]

    server.add(*(text_reply(text) for text in ("One.", "Two.", "Three.", "All of it.")))
    cassette = zot.folder / "cassette.jsonl"
    recorded = talk("--record", cassette)
    assert recorded == talk("--replay", cassette) == "All of it."
