"""What extensions may say beyond zot's protocol, with real children: progress, cancellation, tools taken back, logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.catalogue import LOST_KEPT
from supervisor.loop.pending import Failure

if TYPE_CHECKING:
    from supervisor.calls.tool_call import Answer
    from tests.support.host import Host

HEARS = """
send(type="hello", name="x", capabilities=%r)
send(type="register_tool", name="slow", schema={"type": "object"}, timeout_s=%r)
send(type="register_tool", name="heard", schema={"type": "object"})
send(type="register_command", name="slow")
send(type="ready")
heard = []
for frame in frames():
    if frame["type"] == "cancel":
        heard.append(frame)
    elif frame.get("name") == "heard":
        result(frame, json.dumps(heard))
"""


def heard(host: Host) -> list[dict[str, Any]]:
    return json.loads(host.text("heard"))


def test_a_call_that_times_out_is_cancelled_and_the_tool_sets_the_time(host: Host):
    host.write("x", HEARS % (["tools", "cancel"], 0.2))
    host.start()
    answer = host.call("slow")
    assert (answer.failure, answer.reason) == (Failure.TIMEOUT, "no answer within 0.2 s")
    assert heard(host) == [{"type": "cancel", "id": "1", "reason": "no answer within 0.2 s"}]


def test_a_call_that_is_given_up_is_cancelled(host: Host):
    host.write("x", HEARS % (["cancel"], 30))
    host.start()
    answers: list[Any] = []
    asked = host.supervisor.begin_call("slow", b"{}", answers.append)
    command = host.supervisor.begin_command("slow", "", answers.append)
    asked.cancel("the client has gone")
    command.cancel("the client has gone")
    host.until(lambda: len(answers) == 2)
    assert [frame["id"] for frame in heard(host)] == ["1", "2"]
    host.loop.call_later(0, lambda: host.supervisor.cancel_pending("interrupted"))
    assert host.call("slow").failure is Failure.CANCELLED
    assert heard(host)[-1] == {"type": "cancel", "id": "4", "reason": "interrupted"}


def test_an_extension_that_does_not_say_that_it_hears_of_it_is_not_told(host: Host):
    """One written for zot may take any frame for a request."""
    host.write("x", HEARS % (["tools"], 0.2))
    host.start()
    host.call("slow")
    assert heard(host) == []


PROGRESS = """
hello("work", "late")
send(type="ready")
for frame in frames():
    for number in range(frame["args"].get("steps", 2)):
        send(type="tool_progress", id=frame["id"], text="step %d" % number + "." * frame["args"].get("long", 0))
    send(type="tool_progress", id="nobody's", text="lost")
    result(frame, "done")
    send(type="tool_progress", id=frame["id"], text="too late")
"""


def work(host: Host, **args: int) -> tuple[list[str], Answer]:
    said: list[str] = []
    answers: list[Answer] = []
    owned = host.supervisor.tools()["work"]
    host.supervisor.start_call(owned, json.dumps(args).encode(), answers.append, said.append)
    host.until(lambda: bool(answers))
    return said, answers[0]


def test_progress_reaches_whoever_waits_for_the_call(host: Host):
    host.write("x", PROGRESS)
    host.start()
    assert work(host)[0] == ["step 0", "step 1"]
    assert host.text("work") == "done", "who does not listen gets the answer all the same"
    assert host.said_of("x") == []


def test_progress_without_end_is_left_out_and_counted(host: Host):
    host.write("x", PROGRESS)
    host.start()
    said, answer = work(host, steps=5000, long=10_000)
    assert answer.frame is not None
    assert 50 <= len(said) < 2500
    assert all(len(text) <= 4096 for text in said)
    assert host.cost("x").notes_dropped == 5000 - len(said)


TAKES_BACK = """
hello("once", "other")
send(type="ready")
for frame in frames():
    send(type="unregister_tool", name="nobody has this")
    send(type="unregister_tool", name="once")
    result(frame, "done")
"""


def test_a_tool_that_was_taken_back_is_not_offered_any_more(host: Host):
    host.write("x", TAKES_BACK)
    host.start()
    assert host.text("once") == "done"
    assert host.tools() == {"other"}
    assert "which it has not registered" in host.log("x")


def test_a_log_frame_is_a_line_of_the_log(host: Host):
    host.write(
        "x",
        r"""
hello()
send(type="log", level="warn", message="disk\nis full\x1b[2J", fields={"free": 0, "path": "/tmp", "why": "a b"})
send(type="log", message="plain")
send(type="log", level="fanfare", message="odd")
send(type="log", level="error")
send(type="ready")
for frame in frames(): pass
""",
    )
    host.start()
    lines = [line for line in host.log("x").splitlines() if not line.startswith("[zot]")]
    assert lines == ['[warn] disk is full free=0 path=/tmp why="a b"', "[info] plain", "[info] odd"]
    assert "bad log frame" in host.log("x")


FLAGS = """
send(type="hello", name="x")
send(type="register_tool", name="a", schema={"type": "object"}, **%r)
send(type="ready")
for frame in frames(): pass
"""


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, (False, None, False)),
        ({"idempotent": True, "timeout_s": 7, "read_only": True}, (True, 7.0, True)),
        ({"retry": True}, (True, None, False)),
        ({"idempotent": None, "timeout_s": None, "read_only": None}, (False, None, False)),
    ],
)
def test_flags_of_a_tool(host: Host, flags: dict[str, Any], expected: tuple[Any, ...]):
    host.write("x", FLAGS % flags)
    host.start()
    tool = host.supervisor.tools()["a"].tool
    assert (tool.retry, tool.timeout_s, tool.read_only) == expected


@pytest.mark.parametrize("wrong", [{"timeout_s": 0}, {"timeout_s": "soon"}, {"read_only": "yes"}])
def test_a_flag_that_makes_no_sense_leaves_the_tool_out_and_is_told(host: Host, wrong: dict[str, Any]):
    host.write("x", FLAGS % wrong)
    host.start()
    assert host.tools() == set()
    ((kind, message),) = host.said_of("x")
    assert kind == "warning"
    assert next(iter(wrong)) in message


def test_tools_that_come_and_go_without_end_are_not_all_remembered(host: Host):
    host.write(
        "x",
        """
send(type="hello", name="x")
send(type="register_tool", name="kept", schema={"type": "object"})
send(type="ready")
for frame in frames():
    for number in range(3000):
        send(type="register_tool", name="t%d" % number)
        send(type="unregister_tool", name="t%d" % number)
    result(frame, "done")
""",
    )
    host.start()
    assert host.text("kept") == "done"
    assert host.tools() == {"kept"}
    assert len(host.supervisor._catalogue._tools) <= LOST_KEPT + 1


def test_a_command_of_a_name_that_is_taken_is_hidden_and_that_is_told_once(host: Host):
    for name in ("first", "second"):
        host.write(
            name, 'hello()\nsend(type="register_command", name="go")\nsend(type="ready")\nfor frame in frames(): pass'
        )
    host.start()
    for _ in range(3):
        assert host.supervisor.commands()["go"].owner.name == "first"
    assert host.said_of("second") == [("warning", "its command '/go' is hidden: extension first has that name")]
    assert host.said_of("first") == []
