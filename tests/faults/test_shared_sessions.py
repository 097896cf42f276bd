"""Runs that share an extension cannot see or touch each other."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from supervisor.loop.future import Failure
from tests.support.attached_runs import ALL, Relay, client_of, runs_at, told
from tests.support.zot_process import wait_until
from wire import frames
from wire.dialects import attach
from wire.dialects.attach import ext_line

if TYPE_CHECKING:
    import pytest

    from tests.support.shared_stand import Stand

OWN = """
hello("own")
send(type="ready")
for frame in frames():
    result(frame, sys.argv[0].rsplit("/", 1)[-1])
"""


def test_nothing_crosses_between_many_runs(shared: Stand) -> None:
    runs = runs_at(shared, number=8)
    answers: dict[int, list[Any]] = {number: [] for number in range(8)}
    for turn in range(20):
        for number, run in enumerate(runs):
            args = json.dumps({"text": f"secret {number}.{turn}"}).encode()
            run.begin_call("echo", args, answers[number].append)
            run.supervisor.observers.tell(frames.Event("turn_start", step=turn))
    for number, run in enumerate(runs):
        run.until(lambda: len(answers[number]) == 20)  # noqa: B023
        texts = [answer.frame.content[0].text for answer in answers[number]]
        assert sorted(texts) == sorted(f"secret {number}.{turn} for {run.session_id}" for turn in range(20))
        assert run.ask().reason == f"for {run.session_id}"
        run.text("note", text=f"note {number}")
        run.until(lambda: run.notes)  # noqa: B023
        assert run.notes == [("all", "info", f"note {number}")]
        assert run.said("all") == ""
    seen = told(runs[0])
    for run in runs:
        assert [event for event, session, _ in seen if session == run.session_id] == [
            "session_start", *["turn_start"] * 20,
        ]  # fmt: skip


def test_prompts_and_calls_of_tools_go_to_the_run_that_they_are_for(shared: Stand) -> None:
    asked: list[list[Any]] = [[], []]
    shared.write("all", ALL)
    shared.start()
    runs = []
    for number in range(2):
        run = shared.enter(on_host_call=lambda _extension, call, _answer, to=asked[number]: to.append(call.text))
        run.write_own(f"own-{number}", OWN)
        runs.append(run.start())
    for number, run in enumerate(runs):
        run.text("submit", text=f"prompt {number}")
        run.until(lambda: asked[number])  # noqa: B023
        assert run.text("nested") == f"nested: own-{number}.py"
    assert asked == [["prompt 0"], ["prompt 1"]]


def test_an_answer_with_another_session_is_told_off_and_dropped(shared: Stand) -> None:
    one, two = runs_at(shared)
    answers: list[Any] = []
    one.begin_call("steal", json.dumps({"session": two.session_id}).encode(), answers.append)
    assert shared.host is not None
    wait_until(lambda: "sends notify for the session 'nobody'" in shared.host.running.errors())
    wait_until(lambda: "; ignored" in shared.host.running.errors())
    assert two.text("echo", text="on") == f"on for {two.session_id}"
    assert answers == [], "it has no answer yet"
    assert (one.notes, two.notes) == ([], [])
    os.kill(shared.pid(one, "all"), signal.SIGKILL)
    one.until(lambda: answers)
    assert answers[0].failure is Failure.DIED


def test_no_secret_of_a_run_crosses_the_socket(shared: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-one")
    monkeypatch.setenv("MY_TOKEN", "planted-two")
    monkeypatch.setenv("PLAIN", "planted-three")
    shared.write("all", ALL, env=["MY_TOKEN", "PLAIN"])
    shared.start()
    assert shared.host is not None
    real = shared.zot.home / "run" / f"{shared.host.pid}.attach"
    path = shared.zot.folder / f"{shared.host.pid}.attach"
    relay = Relay(real, path)
    run = shared.enter(by=str(path))
    run.start()
    assert "MY_TOKEN, PLAIN differ from those of host" in "".join(run.lines)
    assert run.text("echo", text="x") == f"x for {run.session_id}"
    run.stop()
    relay.join()
    assert b'"session_id"' in relay.seen
    assert b"planted" not in relay.seen


def test_a_run_cannot_use_the_session_of_another(shared: Stand) -> None:
    (run,) = runs_at(shared, number=1)
    with client_of(shared, run.session_id) as client:
        assert client.next() == attach.Refused(f"the session {run.session_id} is attached already")
        assert client.next() is None
    with client_of(shared) as client:
        client.take()
        client.say(attach.SessionSwitched(run.session_id))
        assert client.next() == attach.Refused(f"the session {run.session_id} is of another run")
        client.frame(type="tool_call", id="1", name="echo", args={"text": "a"}, session_id=run.session_id)
        answer = json.loads(bytes(client.next(attach.Ext).frame))
        assert answer["content"][0]["text"] == "a for client"
        client.frame(type="event", event="turn_start", session_id=run.session_id, cwd="/etc")
        client.frame(type="event_intercept", id="2", event="tool_call", session_id=run.session_id)
        assert json.loads(bytes(client.next(attach.Ext).frame))["reason"] == "for client"
        seen = told(run)
        assert ["turn_start", "client", None] in seen
        assert [event for event, session, _ in seen if session == run.session_id] == ["session_start"]


def test_lines_that_cannot_be_used_are_told_off_and_the_run_is_dropped_in_the_end(shared: Stand) -> None:
    (run,) = runs_at(shared, number=1)
    with client_of(shared, "") as client:
        client.socket.sendall(b'{"type":"take","extension":"all"}\n')
        assert client.next() == attach.Refused("the first line must be attach")
        assert client.next() is None
    with client_of(shared, "") as client:
        client.say(attach.Attach(99, "9.0", 1, "s", "/"))
        assert "speaks version 1 of the attach protocol" in client.next().message
        assert client.next() is None
    with client_of(shared) as client:
        client.take()
        client.socket.sendall(b"junk\n" + ext_line(client.head, b'{"type":"tool_call"}\n') + b'{"type":"stop"}\n' * 200)
        refused = []
        with suppress(ConnectionResetError):
            while (line := client.next()) is not None:
                refused.append(line)
        assert all(isinstance(line, attach.Refused) for line in refused)
    assert run.text("echo", text="on") == f"on for {run.session_id}"


def test_a_run_that_floods_fills_its_own_line_alone(shared: Stand) -> None:
    (run,) = runs_at(shared, number=1)
    with client_of(shared) as client:
        client.take()
        count = 1000
        for number in range(count):
            client.frame(type="tool_call", id=f"h{number}", name="hold", args={})
        failed = client.next(attach.Failed)
        assert (failed.failure, failed.reason) == ("not reading", "too many requests of this run wait for it")
        for number in range(20):
            assert run.text("echo", text=str(number)) == f"{number} for {run.session_id}"
        assert run.ask().reason == f"for {run.session_id}"
    answers: list[Any] = []
    run.begin_call("hold", b"{}", answers.append)
    run.text("free")
    run.until(lambda: answers)
