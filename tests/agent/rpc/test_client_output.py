"""The output that waits for the client is bounded, and comes in order."""

from __future__ import annotations

import json
import os
from contextlib import suppress

import pytest

from agent.rpc import client_output
from agent.rpc.client_output import ClientOutput
from supervisor.loop.loop import Loop
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel, says
from tests.support.set_clock import Clock
from wire import events
from wire.rpc.responses import Response

OK = Response(command="ping", success=True)
SESSION = events.Session(1, "1", "s", "p", "m", "/", (), "t")


@pytest.fixture
def bench():
    clock = Clock()
    loop = Loop(clock)
    reading, writing = os.pipe()
    told = []
    output = ClientOutput(loop, writing, on_gone=told.append, on_unread=told.append)
    yield loop, clock, output, reading, told
    output.close()
    loop.close()
    os.close(reading)
    os.close(writing)


def test_records_wait_for_the_first_response_and_the_oldest_go(bench):
    _, _, output, reading, _ = bench
    for number in range(client_output.HELD_LIMIT + 5):
        output.record(events.ExtNotify("e", "info", str(number)))
    output.record(SESSION)
    output.respond(OK, opens=False)
    output.respond(OK)
    lines = [json.loads(line) for line in os.read(reading, 1 << 20).splitlines()]
    assert [line["type"] for line in lines[:3]] == ["response", "response", "session"]
    assert lines[3]["message"] == "5"


def test_only_records_of_a_prompt_name_it(bench):
    _, _, output, reading, _ = bench
    output.respond(OK)
    output.prompt = "p1"
    output.record(events.Done())
    output.record(events.ExtNotify("e", "info", "hi"))
    output.prompt = ""
    output.record(events.Done())
    lines = [json.loads(line) for line in os.read(reading, 1 << 20).splitlines()]
    assert [line.get("prompt") for line in lines] == [None, "p1", None, None]


def test_a_client_that_takes_nothing_is_given_up_after_a_minute(bench):
    loop, clock, output, reading, told = bench
    output.respond(OK)
    output.prompt = "p1"
    while output.writer.is_flushed:
        output.record(events.TextDelta("x" * 1000))
    clock.now = 59.0
    loop.run_until(lambda: True)
    os.read(reading, 8192)
    loop.run_until(lambda: output.writer.stuck_since in (None, 59.0), clock.now)
    assert told == []
    while output.writer.is_flushed:
        output.record(events.TextDelta("x" * 1000))
    clock.now = 61.0
    loop.run_until(lambda: False, clock.now)
    assert told == []
    clock.now = 119.5
    loop.run_until(lambda: bool(told), clock.now)
    assert told == ["it has read nothing for 60 s"]


def test_a_client_for_which_too_much_waits_is_given_up(bench, monkeypatch):
    _, _, output, _, told = bench
    monkeypatch.setattr(client_output, "WAITING_LIMIT", 1_000_000)
    output.respond(OK)
    for _ in range(2000):
        output.record(events.TextDelta("x" * 1000))
    assert len(told) == 1
    assert output.writer.outbox.queued == 0


def test_a_panel_that_is_drawn_all_the_time_does_not_fill_the_memory(bench):
    _, _, output, reading, told = bench
    output.respond(OK)
    for number in range(20_000):
        output.record(events.PanelRender("e", "p", "", (str(number), "x" * 1000), ""))
    assert output.writer.outbox.queued < 1_000_000
    assert told == []
    last = b""
    while not output.writer.is_flushed:
        last = (last + os.read(reading, 1 << 20))[-3000:]
        output.writer.drain()
    last += os.read(reading, 1 << 20)
    assert json.loads(last.splitlines()[-1])["lines"][0] == "19999"


def test_the_prompt_waits_only_when_much_is_unread(bench):
    _, _, output, _, _ = bench
    output.respond(OK)
    output.record(events.Error("x" * 20_000_000))
    assert not output.writer.is_full
    output.record(events.Error("x" * 20_000_000))
    assert output.writer.is_full


# --- with a server --------------------------------------------------------------------------------------------


def test_a_client_that_reads_nothing_is_given_up(tmp_path):
    def script(client):
        client.send("prompt", message="go")
        with suppress(BrokenPipeError):  # at last the server closes its stdin
            while True:
                client.send("ping")

    served = serve(tmp_path, ScriptedModel(BEGUN), script, stalled_s=0.1, drain_s=60.0)
    assert served.status == 1
    assert "the client is given up: it has read nothing for 0.1 s" in served.stderr


def flood(count):
    """A reply in pieces of 1,000 characters."""
    pieces = ({"type": "text_delta", "delta": f"{number:<1000}"} for number in range(count))
    return [{"type": "message_start", "usage": {}}, *pieces]


def test_a_client_that_pauses_holds_up_nothing_and_loses_nothing(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        client.send("prompt", message="go")
        gate.read_text()  # the prompt has come to its tool, and nothing was read
        client.until("done")

    called = says("", ("t1", "bash", {"command": f"echo up > {gate}"}))[1:]
    served = serve(tmp_path, ScriptedModel([*flood(3000), *called], says("Done.")), script)
    texts = [line["delta"] for line in served.lines if line["type"] == "text_delta"]
    assert "".join(texts) == "".join(f"{number:<1000}" for number in range(3000)) + "Done."
    assert len(texts) < 700
    assert served.kinds("p1")[-1] == "done"
    assert served.status == 0


def test_the_prompt_waits_for_a_client_that_leaves_too_much_but_an_abort_does_not(tmp_path, monkeypatch):
    monkeypatch.setattr(client_output, "WAITS_ABOVE", 1_000_000)

    def script(client):
        client.send("prompt", message="go")
        client.until("assistant_start")
        client.send("abort")
        client.send("ping", id=7)
        client.until("done")

    served = serve(tmp_path, ScriptedModel(flood(3000)), script)
    assert [line["status"] for line in served.lines if line["type"] == "result"] == ["interrupted"]
    assert any(line.get("id") == 7 for line in served.responses)
