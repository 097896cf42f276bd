"""Asking without waiting: whatever happens, each callback is called once, later, and with the answer or the reason."""

from __future__ import annotations

import os
import select
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.lifecycle import State
from supervisor.loop.pending import Failure
from tests.support.host import LATER, SOON, Host
from wire import frames

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.request import Asked
    from supervisor.calls.verdict import Judgement


READ = {"tool_id": "t", "tool_name": "read", "tool_args": frames.Raw(b'{"path": "a"}')}
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


class Asking:
    """Asks a host, and keeps what it hears."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.heard: dict[str, list[Any]] = {}

    def _hear(self, name: str) -> Any:
        heard = self.heard[name] = []
        return heard.append

    def call(self, name: str, tool: str, args: bytes = b"{}") -> Asked:
        return self.host.supervisor.begin_call(tool, args, self._hear(name))

    def command(self, name: str, command: str, args: str = "") -> Asked:
        return self.host.supervisor.begin_command(command, args, self._hear(name))

    def verdict(self, name: str, event: str = "tool_call", **fields: Any) -> Asked:
        fields = READ | fields if event == "tool_call" else fields
        return self.host.supervisor.begin_intercept(frames.Event(event, **fields), self._hear(name))

    def until_all(self) -> dict[str, Any]:
        """Waits until each has ended, and a little longer; each must have ended once."""
        self.host.until(lambda: all(self.heard.values()))
        self.host.run_for(0.05)
        assert {name: len(one) for name, one in self.heard.items()} == dict.fromkeys(self.heard, 1)
        return {name: one[0] for name, one in self.heard.items()}


@pytest.fixture
def asking(host: Host) -> Asking:
    return Asking(host)


def text(answer: Any) -> str:
    return answer.frame.content[0].text


# --- answers ----------------------------------------------------------------------------------------------------


def test_several_at_once_are_answered_in_any_order(host: Host, asking: Asking):
    host.write("late", REVERSED)
    host.start()
    asking.call("call", "a", b'{"text": "one"}')
    asking.command("command", "c", "two")
    asking.verdict("verdict")
    assert all(one == [] for one in asking.heard.values()), "never from within"
    got = asking.until_all()
    assert text(got["call"]) == "one"
    assert got["command"].frame.display == "two"
    assert (got["verdict"].blocked_by, got["verdict"].reason) == ("late", "read")
    assert host.cost("late").calls == 3
    assert host.extension("late").lead.pending == {}


def test_many_at_once(host: Host, asking: Asking):
    host.add("echo")
    host.add("echo", name="hidden")
    host.start()
    for number in range(500):
        asking.call(f"call {number}", "echo", b'{"text": "%d"}' % number)
        asking.verdict(f"verdict {number}")
    got = asking.until_all()
    assert [text(got[f"call {number}"]) for number in range(500)] == [str(number) for number in range(500)]
    assert not any(got[f"verdict {number}"].is_blocked for number in range(500))


def test_what_was_answered_leaves_nothing_behind(host: Host, asking: Asking):
    """Each call has a deadline; those of calls that have ended must not pile up until they would have passed."""
    host.add("echo", timeouts={"tool_call": 600, "intercept": 600})
    host.start()
    before = len(host.loop._timers)
    for round_ in range(10):
        for number in range(200):
            asking.call(f"call {round_} {number}", "echo")
        host.until(lambda: all(asking.heard.values()))
    assert len(host.loop._timers) - before < 500
    asking.until_all()


def test_one_that_is_asked_from_within_an_answer(host: Host, asking: Asking):
    host.add("echo")
    host.start()
    ended = []

    def again(_answer: Any) -> None:
        ended.append(len(ended))
        if len(ended) < 5:
            host.supervisor.begin_call("echo", b"{}", again)

    again(None)
    host.until(lambda: len(ended) == 5)
    host.run_for(0.05)
    assert len(ended) == 5


def test_an_error_that_a_tool_reports_is_an_answer(host: Host, asking: Asking):
    host.write(
        "faulty",
        'hello("a")\nsend(type="ready")\nfor f in frames(): send(type="tool_result", id=f["id"], is_error=True)',
    )
    host.start()
    asking.call("call", "a")
    got = asking.until_all()
    assert (got["call"].failure, got["call"].frame.is_error) == (None, True)
    assert host.cost("faulty").errors == 1


@pytest.mark.parametrize("what", ["call", "command"])
def test_another_kind_of_frame_is_no_answer(host: Host, asking: Asking, what: str):
    code = (
        'hello("a")\nsend(type="register_command", name="c")\nsend(type="ready")\n'
        'for f in frames(): send(type="event_intercept_response", id=f["id"])'
    )
    host.write("odd", code)
    host.start()
    asking.call("it", "a") if what == "call" else asking.command("it", "c")
    got = asking.until_all()["it"]
    kind = "tool call" if what == "call" else "command"
    assert (got.failure, got.reason) == (Failure.BAD_ANSWER, f"it answered a {kind} with event_intercept_response")
    assert host.cost("odd").errors == 1


# --- ends without an answer -------------------------------------------------------------------------------------


def test_each_runs_out_of_its_own_time(host: Host, asking: Asking):
    host.write(
        "mute",
        'hello("a", intercept=["tool_call"])\nsend(type="register_command", name="c")\nsend(type="ready")\n'
        "for _ in frames(): pass",
        timeouts={"tool_call": 0.1, "command": 0.15, "intercept": 0.2},
        stall_after=100,
    )
    host.start()
    asking.call("call", "a")
    asking.command("command", "c")
    asking.verdict("verdict")
    got = asking.until_all()
    assert (got["call"].failure, got["call"].reason) == (Failure.TIMEOUT, "no answer within 0.1 s")
    assert (got["command"].failure, got["command"].reason) == (Failure.TIMEOUT, "no answer within 0.15 s")
    assert got["verdict"].missing[0].reason == "no answer within 0.2 s"
    cost = host.cost("mute")
    assert (cost.timeouts, cost.errors) == (3, 0)
    assert host.extension("mute").lead.pending == {}


def test_a_death_ends_all_of_them_at_once(host: Host, asking: Asking):
    host.write(
        "mute",
        'hello("a", intercept=["tool_call"])\nsend(type="register_command", name="c")\nsend(type="ready")\n'
        "for _ in range(102): sys.stdin.readline()\nos._exit(6)",
        timeouts={"tool_call": 60, "command": 60, "intercept": 60},
        restart=LATER,
    )
    host.start()
    for number in range(99):
        asking.call(f"call {number}", "a")
    asking.command("command", "c")
    asking.verdict("verdict")
    got = asking.until_all()
    assert {(got[f"call {number}"].failure, got[f"call {number}"].reason) for number in range(99)} == {
        (Failure.DIED, "it ended (exit 6)")
    }
    assert got["command"].failure is Failure.DIED
    assert got["verdict"].missing[0].reason == "it ended (exit 6)"
    assert host.cost("mute").errors == 101


def test_one_that_is_down_fails_later_with_the_reason(host: Host, asking: Asking):
    host.add("dies_in_call", restart=LATER)
    host.start()
    host.call("die")
    asking.call("call", "die")
    assert asking.heard["call"] == []
    got = asking.until_all()["call"]
    assert got.failure is Failure.DIED
    assert "it ended (exit 7)" in got.reason


def test_an_answer_that_waits_to_be_read_is_in_time(host: Host, asking: Asking):
    """The host itself may have been away: stopped by Ctrl-Z, or busy."""
    real, skipped = host.loop.clock, 0.0
    host.loop.clock = lambda: real() + skipped
    host.add("echo", timeouts={"tool_call": 30})
    host.start()
    asking.call("call", "echo", b'{"text": "x"}')
    assert select.select([host.extension("echo").child.stdout], [], [], 5)[0]
    skipped = 31.0
    assert text(asking.until_all()["call"]) == "x"
    assert host.cost("echo").timeouts == 0


# --- what is not there ------------------------------------------------------------------------------------------


def test_names_that_nobody_registered_are_errors(host: Host, asking: Asking):
    host.add("echo")
    host.start()
    with pytest.raises(KeyError):
        asking.call("call", "nothing")
    with pytest.raises(KeyError):
        asking.command("command", "nothing")
    with pytest.raises(KeyError):
        asking.verdict("verdict", "turn_end")
    host.run_for(0.05)
    assert all(one == [] for one in asking.heard.values())


def test_a_tool_that_was_not_registered_again_is_not_there_any_more(host: Host, asking: Asking, tmp_path: Path):
    host.add("lives", tmp_path / "life", "ready=old", "ready", restart=SOON)
    host.start()
    assert "old" in host.tools()
    host.call("die")
    asking.call("down", "old")
    assert asking.until_all()["down"].failure is Failure.DIED, "it may be back in a moment"
    host.until(lambda: host.cost("lives").restarts == 1)
    with pytest.raises(KeyError):
        asking.call("call", "old")


def test_a_tool_that_was_registered_since_is_there(host: Host, asking: Asking):
    host.add("late_tool")
    host.start()
    host.supervisor.tell(frames.Event("turn_start", step=1))
    host.until(lambda: "late_tool" in host.extension("late_tool").tools)
    asking.call("call", "late_tool")
    assert text(asking.until_all()["call"]) == "late"


def test_commands_of_one_that_is_down_are_not_there(host: Host, asking: Asking, tmp_path: Path):
    host.add("lives", tmp_path / "life", restart=LATER)
    host.start()
    asking.command("before", "life")
    assert asking.until_all()["before"].frame.display == "life 0"
    host.call("die")
    with pytest.raises(KeyError):
        asking.command("after", "life")


# --- cancelling -------------------------------------------------------------------------------------------------


def test_one_that_is_cancelled_ends_at_once_and_alone(host: Host, asking: Asking):
    host.write("late", REVERSED, timeouts={"tool_call": 60})
    host.start()
    first = asking.call("first", "a", b'{"text": "first"}')
    asking.call("second", "a", b'{"text": "second"}')
    first.cancel("no more interest")
    assert asking.heard["first"] == [], "never from within"
    host.until(lambda: asking.heard["first"])
    assert asking.heard["second"] == []
    asking.call("third", "a", b'{"text": "third"}')
    got = asking.until_all()
    assert (got["first"].failure, got["first"].reason) == (Failure.CANCELLED, "no more interest")
    assert [text(got[name]) for name in ("second", "third")] == ["second", "third"]
    cost = host.cost("late")
    assert (cost.errors, cost.timeouts) == (0, 0)
    assert host.said_of("late") == []


@pytest.mark.parametrize("what", ["call", "command", "verdict"])
@pytest.mark.parametrize("when", ["at once", "twice", "after its end"])
def test_a_cancel_at_any_time_is_one_end(host: Host, asking: Asking, what: str, when: str):
    host.write("late", REVERSED if when != "after its end" else REVERSED.replace("== 3", "== 1"))
    host.start()
    asked = {
        "call": lambda: asking.call("it", "a", b'{"text": ""}'),
        "command": lambda: asking.command("it", "c"),
        "verdict": lambda: asking.verdict("it"),
    }[what]()
    if when == "after its end":
        host.until(lambda: asking.heard["it"])
    else:
        for _ in range(2 if when == "twice" else 1):
            asked.cancel("first reason")
    asked.cancel("second reason")
    got = asking.until_all()["it"]
    if when == "after its end":
        assert getattr(got, "failure", None) is None
        assert getattr(got, "blocked_by", "late") == "late"
    elif what == "verdict":
        assert got.blocked_by == "host"
        assert got.reason in ("first reason", "second reason")
    else:
        assert (got.failure, got.reason) == (Failure.CANCELLED, "first reason")


def test_a_cancel_of_one_whose_extension_is_down_is_one_end(host: Host, asking: Asking):
    host.add("dies_in_call", restart=LATER)
    host.start()
    host.call("die")
    asking.call("it", "die").cancel("no more interest")
    assert asking.until_all()["it"].failure in (Failure.DIED, Failure.CANCELLED)


def test_a_verdict_that_is_cancelled_blocks_and_asks_nobody_else(host: Host, asking: Asking, tmp_path: Path):
    host.add("never_answers", priority=2, timeouts={"intercept": 60})
    host.add("blocker", "tool_call", "no", priority=1)
    host.start()
    asked = asking.verdict("it")
    host.until(lambda: host.extension("never_answers").lead.pending)
    asked.cancel("no more interest")
    got = asking.until_all()["it"]
    assert (got.blocked_by, got.reason) == ("host", "no more interest")
    assert host.cost("blocker").calls == 0
    assert (host.cost("never_answers").blocks, host.cost("never_answers").errors) == (0, 0)
    assert host.said_of("never_answers") == []


def test_all_that_is_pending_can_be_given_up(host: Host, asking: Asking):
    host.add("never_answers")
    host.start()
    asking.call("call", "hang")
    asking.verdict("verdict")
    host.until(lambda: len(host.extension("never_answers").lead.pending) == 2)
    host.supervisor.cancel_pending("interrupted")
    got = asking.until_all()
    assert (got["call"].failure, got["call"].reason) == (Failure.CANCELLED, "interrupted")
    assert (got["verdict"].blocked_by, got["verdict"].reason) == ("host", "interrupted")


def test_a_stop_of_the_host_ends_all(host: Host, asking: Asking):
    host.add("never_answers")
    host.start()
    asking.call("call", "hang")
    asking.verdict("verdict")
    host.until(lambda: len(host.extension("never_answers").lead.pending) == 2)
    host.stop()
    got = asking.until_all()
    assert got["call"].failure is Failure.DIED
    assert got["verdict"].missing[0].reason == "it was stopped (exit 0)"


# --- verdicts ---------------------------------------------------------------------------------------------------

CHAINS: dict[str, list[tuple[str, tuple[str, ...], dict[str, Any]]]] = {
    "nobody": [],
    "one that allows": [("echo", (), {})],
    "one that blocks": [("blocker", ("tool_call", "not today"), {})],
    "rewriters chain": [("rewriter", ("one", "+1"), {"name": "one"}), ("rewriter", ("two", "+2"), {"name": "two"})],
    "a block after a rewrite": [("rewriter", ("one", "+1"), {}), ("blocker", ("tool_call", "no"), {})],
    "one that dies": [("dies_in_intercept", (), {}), ("rewriter", ("one", "+1"), {})],
    "one that dies and denies": [
        ("dies_in_intercept", (), {"on_failure": "deny"}),
        ("blocker", ("tool_call", "no"), {}),
    ],
    "one that is mute": [("never_answers", (), {"timeouts": {"intercept": 0.1}}), ("rewriter", ("one", "+1"), {})],
    "one with wrong types": [("wrong_types", (), {"on_failure": "deny"})],
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_verdict_is_the_same_whether_waited_for_or_not(host: Host, asking: Asking, tmp_path: Path, chain: str):
    """Two such chains, one after the other."""

    def book(one: Host) -> dict[str, Any]:
        costs = {name: one.cost(name) for name in [found.manifest.name for found in one.found]}
        return {
            name: (cost.calls, cost.errors, cost.timeouts, cost.blocks, [kind for kind, _ in one.said_of(name)])
            for name, cost in costs.items()
        }

    (tmp_path / "other").mkdir()
    with Host(tmp_path / "other") as other:
        for child, argv, manifest in CHAINS[chain]:
            other.add(child, *argv, **manifest)
        other.start()
        expected = other.ask()
        booked = book(other)
    for child, argv, manifest in CHAINS[chain]:
        host.add(child, *argv, **manifest)
    host.start()
    asking.verdict("it")
    got: Judgement = asking.until_all()["it"]
    assert got == expected
    assert book(host) == booked


def test_several_verdicts_do_not_mix(host: Host, asking: Asking):
    host.add("rewriter", "one", "+1", name="one")
    host.add("rewriter", "two", "+2", name="two")
    host.start()
    for number in range(50):
        asking.verdict(f"{number}", tool_args=frames.Raw(b'{"path": "%d"}' % number))
    got = asking.until_all()
    assert [got[f"{number}"].args for number in range(50)] == [b'{"path": "%d+1+2"}' % number for number in range(50)]


def test_a_message_may_be_rewritten(host: Host, asking: Asking):
    host.add("rewriter", "one", "+1")
    host.start()
    asking.verdict("it", "assistant_message", text="hi")
    assert asking.until_all()["it"].text == "hi +1"


def test_a_guard_that_dies_between_two_verdicts_counts_as_silent(host: Host, asking: Asking):
    host.add("blocker", "tool_call", "no", on_failure="deny", restart=LATER)
    host.start()
    asking.verdict("first")
    asking.until_all()
    os.kill(host.extension("blocker").pid, signal.SIGKILL)
    host.until(lambda: host.extension("blocker").state is State.BACKOFF)
    asking.verdict("second")
    got = asking.until_all()["second"]
    assert got.blocked_by == "blocker"
    assert "it ended (signal SIGKILL)" in got.reason


def test_a_guard_that_could_not_be_started_denies_if_its_failure_means_deny(host: Host, asking: Asking):
    host.add("exits_before_hello", on_failure="deny")
    host.add("echo")
    host.start()
    asking.verdict("it")
    got = asking.until_all()["it"]
    assert got.blocked_by == "exits_before_hello"
    assert got == host.ask()


def test_one_that_is_still_starting_is_waited_for_and_asked(host: Host, asking: Asking, tmp_path: Path):
    go = tmp_path / "go"
    host.write(
        "late",
        f'while not os.path.exists({str(go)!r}): time.sleep(0.01)\nhello(intercept=["tool_call"])\nsend(type="ready")\n'
        'for f in frames(): send(type="event_intercept_response", id=f["id"], block=True, reason="late, not never")',
        timeouts={"intercept": 30},
    )
    host.launch()
    asking.verdict("it")
    host.run_for(0.1)
    assert asking.heard["it"] == []
    go.touch()
    assert asking.until_all()["it"].reason == "late, not never"


def test_one_that_is_too_long_in_starting_is_not_waited_for(host: Host, asking: Asking):
    host.add("silent", timeouts={"intercept": 0.2, "hello": 30})
    host.add("silent", name="strict", on_failure="deny", timeouts={"intercept": 0.2, "hello": 30})
    host.launch()
    asking.verdict("it")
    got = asking.until_all()["it"]
    assert got.blocked_by == "strict"
    assert "it is still starting (spawned)" in got.reason


def test_a_turn_does_not_wait_for_those_whose_failure_means_allow(host: Host, asking: Asking):
    host.add("silent", timeouts={"intercept": 30, "hello": 30})
    host.launch()
    asking.verdict("turn", "turn_start", step=1)
    asking.verdict("call")
    host.until(lambda: asking.heard["turn"])
    host.run_for(0.1)
    assert not asking.heard["turn"][0].is_blocked
    assert asking.heard["call"] == []


def test_a_verdict_that_waits_for_a_start_can_be_cancelled(host: Host, asking: Asking):
    host.add("silent", timeouts={"intercept": 30, "hello": 30})
    host.launch()
    asked = asking.verdict("it")
    host.run_for(0.05)
    asked.cancel("no more interest")
    got = asking.until_all()["it"]
    assert (got.blocked_by, got.reason) == ("host", "no more interest")
