"""A call fails as soon as it can no longer be answered; its caller hears of progress, its extension of the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.loop.future import Failure
from tests.support.host import AT_ONCE
from wire import frames

if TYPE_CHECKING:
    from supervisor.calls.tool_call import ToolAnswer
    from tests.support.host import Host


pytestmark = pytest.mark.usefixtures("healthy")


def test_a_worker_that_dies_just_before_a_call_is_reported_by_its_exit(host: Host):
    for number in range(10):
        host.write(
            f"dead{number}",
            f'hello("t{number}")\nsend(type="ready")\nsys.stdin.readline()\nsys.stdin.readline()\nos._exit(5)',
        )
    host.start()
    for number in range(10):
        host.extension(f"dead{number}").tell(frames.Event("turn_end"))  # makes it leave, at any moment from now
        answer = host.call_of(f"dead{number}", f"t{number}")
        assert answer.failure is Failure.DIED
        assert "it ended (exit 5)" in answer.reason


def test_a_cancelled_call_fails_at_once_and_its_late_answer_is_ignored(host: Host):
    host.add("answers_late", timeouts={"tool_call": 60})
    host.start()
    host.loop.call_later(0.1, lambda: host.supervisor.cancel_pending("interrupted"))
    answer, seconds = host.timed(host.call, "late")
    assert seconds < AT_ONCE
    assert answer.reason == "interrupted"
    assert host.text("late") == "answer to 2"
    assert host.said_of("answers_late") == []


# --- what its extension hears of the end ----------------------------------------------------------------------


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


def test_an_extension_is_told_of_a_timeout_and_a_tool_sets_its_own(host: Host):
    host.write("x", HEARS % (["tools", "cancel"], 0.2))
    host.start()
    answer = host.call("slow")
    assert (answer.failure, answer.reason) == (Failure.TIMEOUT, "no answer within 0.2 s")
    assert heard(host) == [{"type": "cancel", "id": "1", "reason": "no answer within 0.2 s"}]


def test_an_extension_is_told_of_a_cancelled_call(host: Host):
    host.write("x", HEARS % (["cancel"], 30))
    host.start()
    answers: list[Any] = []
    asked = host.begin_call("slow", b"{}", answers.append)
    command = host.begin_command("slow", "", answers.append)
    asked.cancel("the client has gone")
    command.cancel("the client has gone")
    host.until(lambda: len(answers) == 2)
    assert [frame["id"] for frame in heard(host)] == ["1", "2"]
    host.loop.call_later(0, lambda: host.supervisor.cancel_pending("interrupted"))
    assert host.call("slow").failure is Failure.CANCELLED
    assert heard(host)[-1] == {"type": "cancel", "id": "4", "reason": "interrupted"}


def test_zots_word_for_it_is_for_calls_alone_and_never_for_an_answered_one(host: Host):
    host.write(
        "x", HEARS.replace('if frame["type"] == "cancel"', 'if "cancel" in frame["type"]') % (["tool_cancel"], 0.2)
    )
    host.start()
    answers: list[Any] = []
    host.begin_command("slow", "", answers.append).cancel("the client has gone")
    asked = host.begin_call("slow", b"{}", answers.append)
    asked.cancel("the client has gone")
    host.until(lambda: len(answers) == 2)
    assert heard(host) == [{"type": "tool_cancel", "id": "2"}]
    host.call("slow")
    assert heard(host)[1:] == [{"type": "tool_cancel", "id": "4"}]


def test_an_extension_without_the_cancel_capability_is_not_told(host: Host):
    """An extension written for zot may take any frame for a request."""
    host.write("x", HEARS % (["tools"], 0.2))
    host.start()
    host.call("slow")
    assert heard(host) == []


# --- progress -------------------------------------------------------------------------------------------------


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


def work(host: Host, **args: int) -> tuple[list[str], ToolAnswer]:
    said: list[str] = []
    answers: list[ToolAnswer] = []
    owned = host.supervisor.registrations.tools()["work"]
    host.supervisor.begin_call(owned, json.dumps(args).encode(), answers.append, said.append)
    host.until(lambda: bool(answers))
    return said, answers[0]


def test_progress_reaches_the_caller(host: Host):
    host.write("x", PROGRESS)
    host.start()
    assert work(host)[0] == ["step 0", "step 1"]
    assert host.text("work") == "done", "who does not listen gets the answer all the same"
    assert host.said_of("x") == []


def test_a_flood_of_progress_is_dropped_and_counted(host: Host):
    host.write("x", PROGRESS)
    host.start()
    said, answer = work(host, steps=5000, long=10_000)
    assert answer.frame is not None
    assert 50 <= len(said) < 2500
    assert all(len(text) <= 4096 for text in said)
    assert host.cost("x").notes_dropped == 5000 - len(said)
