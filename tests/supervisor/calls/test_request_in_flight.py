"""A request in flight ends exactly once, with its answer or a reason, and never from within a call."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.loop.future import Failure
from tests.support.host import LATER, Host

if TYPE_CHECKING:
    from tests.support.requests_in_flight import RequestsInFlight


REVERSED = """
hello("a", intercept=["tool_call"])
send(type="register_command", name="c")
send(type="ready")
held = []
for frame in frames():
    held.append(frame)
    if len(held) == 3:
        for one in reversed(held):
            if one["type"] == "tool_call":
                result(one, one["args"]["text"])
            elif one["type"] == "command_invoked":
                send(type="command_response", id=one["id"], action="display", display=one.get("args"))
            else:
                send(type="event_intercept_response", id=one["id"], block=True, reason=one["tool_name"])
        held.clear()
"""


def text(answer: Any) -> str:
    return answer.frame.content[0].text


# --- answers --------------------------------------------------------------------------------------------------


def test_requests_in_flight_are_answered_in_any_order(host: Host, in_flight: RequestsInFlight):
    host.write("late", REVERSED)
    host.start()
    in_flight.call("call", "a", b'{"text": "one"}')
    in_flight.command("command", "c", "two")
    in_flight.verdict("verdict")
    assert all(answers == [] for answers in in_flight.answers.values()), "never from within"
    got = in_flight.until_all()
    assert text(got["call"]) == "one"
    assert got["command"].frame.display == "two"
    assert (got["verdict"].blocked_by, got["verdict"].reason) == ("late", "read")
    assert host.cost("late").calls == 3
    assert host.extension("late").lead.requests.pending == {}


def test_a_thousand_requests_in_flight_are_all_answered(host: Host, in_flight: RequestsInFlight):
    host.add("echo")
    host.add("echo", name="hidden")
    host.start()
    for number in range(500):
        in_flight.call(f"call {number}", "echo", b'{"text": "%d"}' % number)
        in_flight.verdict(f"verdict {number}")
    got = in_flight.until_all()
    assert [text(got[f"call {number}"]) for number in range(500)] == [str(number) for number in range(500)]
    assert not any(got[f"verdict {number}"].is_blocked for number in range(500))


def test_the_deadline_of_an_answered_request_is_not_kept(host: Host, in_flight: RequestsInFlight):
    """Timers of answered calls are thrown out long before their time."""
    host.add("echo", timeouts={"tool_call": 600, "intercept": 600})
    host.start()
    before = len(host.loop._timers)
    for round_ in range(10):
        for number in range(200):
            in_flight.call(f"call {round_} {number}", "echo")
        host.until(lambda: all(in_flight.answers.values()))
    assert len(host.loop._timers) - before < 500
    in_flight.until_all()


def test_a_request_can_be_made_from_within_an_answer(host: Host, in_flight: RequestsInFlight):
    host.add("echo")
    host.start()
    ended = []

    def again(_answer: Any) -> None:
        ended.append(len(ended))
        if len(ended) < 5:
            host.begin_call("echo", b"{}", again)

    again(None)
    host.until(lambda: len(ended) == 5)
    host.run_for(0.05)
    assert len(ended) == 5


def test_an_error_that_a_tool_reports_is_an_answer(host: Host, in_flight: RequestsInFlight):
    host.write(
        "faulty",
        'hello("a")\nsend(type="ready")\nfor f in frames(): send(type="tool_result", id=f["id"], is_error=True)',
    )
    host.start()
    in_flight.call("call", "a")
    got = in_flight.until_all()
    assert (got["call"].failure, got["call"].frame.is_error) == (None, True)
    assert host.cost("faulty").errors == 1


@pytest.mark.parametrize("what", ["call", "command"])
def test_an_answer_of_another_kind_fails_the_request(host: Host, in_flight: RequestsInFlight, what: str):
    code = (
        'hello("a")\nsend(type="register_command", name="c")\nsend(type="ready")\n'
        'for f in frames(): send(type="event_intercept_response", id=f["id"])'
    )
    host.write("odd", code)
    host.start()
    in_flight.call("it", "a") if what == "call" else in_flight.command("it", "c")
    got = in_flight.until_all()["it"]
    kind = "tool call" if what == "call" else "command"
    assert (got.failure, got.reason) == (Failure.BAD_ANSWER, f"it answered a {kind} with event_intercept_response")
    assert host.cost("odd").errors == 1


# --- ends without an answer -----------------------------------------------------------------------------------


def test_each_request_has_its_own_deadline(host: Host, in_flight: RequestsInFlight):
    host.write(
        "mute",
        'hello("a", intercept=["tool_call"])\nsend(type="register_command", name="c")\nsend(type="ready")\n'
        "for _ in frames(): pass",
        timeouts={"tool_call": 0.1, "command": 0.15, "intercept": 0.2},
        stall_after=100,
    )
    host.start()
    in_flight.call("call", "a")
    in_flight.command("command", "c")
    in_flight.verdict("verdict")
    got = in_flight.until_all()
    assert (got["call"].failure, got["call"].reason) == (Failure.TIMEOUT, "no answer within 0.1 s")
    assert (got["command"].failure, got["command"].reason) == (Failure.TIMEOUT, "no answer within 0.15 s")
    assert got["verdict"].missing[0].reason == "no answer within 0.2 s"
    cost = host.cost("mute")
    assert (cost.timeouts, cost.errors) == (3, 0)
    assert host.extension("mute").lead.requests.pending == {}


def test_all_requests_fail_at_once_when_their_worker_dies(host: Host, in_flight: RequestsInFlight):
    host.write(
        "mute",
        'hello("a", intercept=["tool_call"])\nsend(type="register_command", name="c")\nsend(type="ready")\n'
        "for _ in range(102): sys.stdin.readline()\nos._exit(6)",
        timeouts={"tool_call": 60, "command": 60, "intercept": 60},
        restart=LATER,
    )
    host.start()
    for number in range(99):
        in_flight.call(f"call {number}", "a")
    in_flight.command("command", "c")
    in_flight.verdict("verdict")
    got = in_flight.until_all()
    assert {(got[f"call {number}"].failure, got[f"call {number}"].reason) for number in range(99)} == {
        (Failure.DIED, "it ended (exit 6)")
    }
    assert got["command"].failure is Failure.DIED
    assert got["verdict"].missing[0].reason == "it ended (exit 6)"
    assert host.cost("mute").errors == 101


def test_a_call_of_an_extension_that_is_down_fails_with_the_reason(host: Host, in_flight: RequestsInFlight):
    host.add("dies_in_call", restart=LATER)
    host.start()
    host.call("die")
    in_flight.call("call", "die")
    assert in_flight.answers["call"] == []
    got = in_flight.until_all()["call"]
    assert got.failure is Failure.DIED
    assert "it ended (exit 7)" in got.reason


def test_an_answer_that_waits_to_be_read_is_in_time(host: Host, in_flight: RequestsInFlight):
    """The host itself may have been stopped by Ctrl-Z, or busy."""
    real, skipped = host.loop.clock, 0.0
    host.loop.clock = lambda: real() + skipped
    host.add("echo", timeouts={"tool_call": 30})
    host.start()
    in_flight.call("call", "echo", b'{"text": "x"}')
    assert select.select([host.extension("echo").child.stdout], [], [], 5)[0]
    skipped = 31.0
    assert text(in_flight.until_all()["call"]) == "x"
    assert host.cost("echo").timeouts == 0


# --- cancelling -----------------------------------------------------------------------------------------------


def test_a_cancelled_request_ends_at_once_and_no_other(host: Host, in_flight: RequestsInFlight):
    host.write("late", REVERSED, timeouts={"tool_call": 60})
    host.start()
    first = in_flight.call("first", "a", b'{"text": "first"}')
    in_flight.call("second", "a", b'{"text": "second"}')
    first.cancel("no more interest")
    assert in_flight.answers["first"] == [], "never from within"
    host.until(lambda: in_flight.answers["first"])
    assert in_flight.answers["second"] == []
    in_flight.call("third", "a", b'{"text": "third"}')
    got = in_flight.until_all()
    assert (got["first"].failure, got["first"].reason) == (Failure.CANCELLED, "no more interest")
    assert [text(got[name]) for name in ("second", "third")] == ["second", "third"]
    cost = host.cost("late")
    assert (cost.errors, cost.timeouts) == (0, 0)
    assert host.said_of("late") == []


@pytest.mark.parametrize("what", ["call", "command", "verdict"])
@pytest.mark.parametrize("when", ["at once", "twice", "after its end"])
def test_a_request_ends_once_whenever_it_is_cancelled(host: Host, in_flight: RequestsInFlight, what: str, when: str):
    host.write("late", REVERSED if when != "after its end" else REVERSED.replace("== 3", "== 1"))
    host.start()
    asked = {
        "call": lambda: in_flight.call("it", "a", b'{"text": ""}'),
        "command": lambda: in_flight.command("it", "c"),
        "verdict": lambda: in_flight.verdict("it"),
    }[what]()
    if when == "after its end":
        host.until(lambda: in_flight.answers["it"])
    else:
        for _ in range(2 if when == "twice" else 1):
            asked.cancel("first reason")
    asked.cancel("second reason")
    got = in_flight.until_all()["it"]
    if when == "after its end":
        assert getattr(got, "failure", None) is None
        assert getattr(got, "blocked_by", "late") == "late"
    elif what == "verdict":
        assert got.blocked_by == "host"
        assert got.reason in ("first reason", "second reason")
    else:
        assert (got.failure, got.reason) == (Failure.CANCELLED, "first reason")


def test_a_cancelled_request_to_an_extension_that_is_down_ends_once(host: Host, in_flight: RequestsInFlight):
    host.add("dies_in_call", restart=LATER)
    host.start()
    host.call("die")
    in_flight.call("it", "die").cancel("no more interest")
    assert in_flight.until_all()["it"].failure in (Failure.DIED, Failure.CANCELLED)


def test_all_requests_can_be_cancelled_together(host: Host, in_flight: RequestsInFlight):
    host.add("never_answers")
    host.start()
    in_flight.call("call", "hang")
    in_flight.verdict("verdict")
    host.until(lambda: len(host.extension("never_answers").lead.requests.pending) == 2)
    host.supervisor.cancel_pending("interrupted")
    got = in_flight.until_all()
    assert (got["call"].failure, got["call"].reason) == (Failure.CANCELLED, "interrupted")
    assert (got["verdict"].blocked_by, got["verdict"].reason) == ("host", "interrupted")


def test_a_stop_of_the_host_ends_all_requests(host: Host, in_flight: RequestsInFlight):
    host.add("never_answers")
    host.start()
    in_flight.call("call", "hang")
    in_flight.verdict("verdict")
    host.until(lambda: len(host.extension("never_answers").lead.requests.pending) == 2)
    host.stop()
    got = in_flight.until_all()
    assert got["call"].failure is Failure.DIED
    assert got["verdict"].missing[0].reason == "it was stopped (exit 0)"
