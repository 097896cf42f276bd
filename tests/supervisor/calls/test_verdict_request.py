"""Guards are asked in a fixed order, and one that gives no verdict costs no more than its time.

Both drivers of a chain are held to one table: `Supervisor.intercept`, which waits, and `Supervisor.begin_intercept`.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Raw

from supervisor.calls.guard_chain import UNTOUCHED, Judgement, MissingVerdict, Remark
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.pipes import PipeReader
from tests.support.host import AT_ONCE, LATER, Host

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.tool_call import ToolAnswer
    from tests.support.requests_in_flight import RequestsInFlight

both_drivers = pytest.mark.parametrize("waits", [True, False], ids=["waiting", "in flight"])
ALLOWED = "; allowed; to deny in such a case set on_failure in its extension.json, or --strict-guards"
EVENTS = ("tool_call", "turn_start", "assistant_message")
NOT_ASKED, ASKED, FAILED, TIMED_OUT, BLOCKED = (0, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1)
"""Calls, errors, timeouts and blocks of a guard after one chain."""


class Guard:
    """A guard of `tests/children`, or with `answer` one that answers every question with this frame."""

    def __init__(
        self, child: str, *argv: str, name: str = "", answer: str = "", costs: tuple[int, ...] = ASKED, **manifest: Any
    ) -> None:
        self.child, self.argv, self.name, self.answer, self.costs = child, argv, name or child, answer, costs
        self.manifest = manifest

    def add_to(self, host: Host, **manifest: Any) -> None:
        manifest = self.manifest | manifest
        if self.answer:
            code = f'hello(intercept=["tool_call"])\nsend(type="ready")\nfor frame in frames(): send({self.answer})'
            host.write(self.name, code, **manifest)
        else:
            host.add(self.child, *self.argv, name=self.name, **manifest)


@dataclass(frozen=True)
class Chain:
    guards: tuple[Guard, ...]
    judgement: Judgement
    strict: bool = False
    cancel: str = ""
    """The reason with which all that is pending is cancelled."""


def appends(mark: str, **fields: Any) -> Guard:
    return Guard("rewriter", "rewriter", mark, **{"name": f"appends{mark}", **fields})


VERDICT = 'type="event_intercept_response", id=frame["id"]'
FAILURES = {
    "a crash": (Guard("dies_in_intercept", costs=FAILED), "it ended (exit 9)"),
    "no answer in time": (
        Guard("never_answers", costs=TIMED_OUT, timeouts={"intercept": 0.2}),
        "no answer within 0.2 s",
    ),
    "a field of the wrong type": (
        Guard("wrong_types", costs=FAILED),
        "bad event_intercept_response frame: Expected `bool | null`, got `str` - at `$.block`",
    ),
    "another kind of frame": (
        Guard("odd", answer='type="tool_result", id=frame["id"]'),
        "it answered with tool_result",
    ),
    "a text as arguments": (
        Guard("odd", answer=VERDICT + ', modified_args="text"'),
        "modified_args is not a JSON object",
    ),
    "an array as arguments": (
        Guard("odd", answer=VERDICT + ", modified_args=[1]"),
        "modified_args is not a JSON object",
    ),
}
CHAINS = {
    "no guard": Chain((), UNTOUCHED),
    "a guard that allows": Chain((Guard("echo"),), UNTOUCHED),
    "a guard that denies": Chain(
        (Guard("blocker", "tool_call", "not today", costs=BLOCKED),),
        Judgement(blocked_by="blocker", reason="not today"),
    ),
    "rewrites in order of priority, then position": Chain(
        (appends("-2"), appends("-3"), appends("-4", priority=-1), appends("-1", priority=10)),
        Judgement(args=b'{"path": "a-1-2-3-4"}'),
    ),
    "no guard is asked after a denial": Chain(
        (
            appends("+1"),
            Guard("blocker", "tool_call", "no reading", costs=BLOCKED),
            Guard("dies_in_intercept", costs=NOT_ASKED),
        ),
        Judgement(args=b'{"path": "a+1"}', blocked_by="blocker", reason="no reading"),
    ),
    "cancelled": Chain(
        (Guard("never_answers"), Guard("dies_in_intercept", costs=NOT_ASKED)),
        Judgement(blocked_by="host", reason="interrupted"),
        cancel="interrupted",
    ),
}
for _failure, (_guard, _reason) in FAILURES.items():
    _denied = Judgement(
        blocked_by=_guard.name,
        reason=f"guard {_guard.name} gave no verdict ({_reason}), and its failure means deny",
        missing=(MissingVerdict(_guard.name, _reason, True),),
    )
    _denying = Guard(_guard.child, answer=_guard.answer, costs=_guard.costs, **_guard.manifest, on_failure="deny")
    CHAINS[f"{_failure} denies"] = Chain((_denying, appends("+1", costs=NOT_ASKED)), _denied)
    if _failure == "a crash":  # what a failure means does not depend on its kind
        CHAINS[f"{_failure} allows"] = Chain(
            (_guard, appends("+1")),
            Judgement(b'{"path": "a+1"}', missing=(MissingVerdict(_guard.name, _reason, False),)),
        )
        CHAINS[f"{_failure} denies if strict"] = Chain((_guard, appends("+1", costs=NOT_ASKED)), _denied, strict=True)


@both_drivers
@pytest.mark.parametrize("name", CHAINS)
def test_both_drivers_judge_alike(tmp_path: Path, name: str, waits: bool):
    chain = CHAINS[name]
    with Host(tmp_path, strict_guards=chain.strict) as host:
        for guard in chain.guards:
            guard.add_to(host)
        host.start()
        if chain.cancel:
            host.loop.call_later(0.1, lambda: host.supervisor.cancel_pending(chain.cancel))
        judgement, seconds = host.timed(host.ask, waits=waits)
        assert judgement == chain.judgement
        assert seconds < AT_ONCE
        for guard in chain.guards:
            if chain.cancel:
                assert host.said_of(guard.name) == [], "a cancelled verdict is not the fault of its guard"
            cost = host.cost(guard.name)
            assert (cost.calls, cost.errors, cost.timeouts, cost.blocks) == guard.costs, guard.name
            assert [line for kind, line in host.said_of(guard.name) if kind == "no_verdict"] == [
                f"gave no verdict on tool_call: {missing.reason}{'; denied' if missing.denied else ALLOWED}"
                for missing in judgement.missing
                if missing.extension == guard.name
            ]


@both_drivers
def test_an_event_without_guards_is_untouched(host: Host, waits: bool):
    host.add("recorder", "/dev/null")
    host.start()
    for event in EVENTS:
        assert host.ask(event, waits=waits) == UNTOUCHED


@both_drivers
def test_rewrites_of_a_message_chain_like_those_of_arguments(host: Host, waits: bool):
    for guard in (appends("-2"), appends("-1", priority=10)):
        guard.add_to(host)
    host.start()
    for _ in range(3):
        assert host.ask(waits=waits).args == b'{"path": "a-1-2"}'
        assert host.ask("assistant_message", waits=waits, text="Hi").text == "Hi -1 -2"


@both_drivers
def test_each_event_can_be_blocked(host: Host, waits: bool):
    for event in EVENTS:
        host.add("blocker", event, f"because of {event}", name=event)
    host.start()
    for event in EVENTS:
        judgement = host.ask(event, waits=waits, text="x")
        assert (judgement.blocked_by, judgement.reason) == (event, f"because of {event}")
        assert host.cost(event).calls == 1, "no other event is asked about"


@both_drivers
def test_a_guard_that_has_died_gives_no_verdict_on_any_later_event(host: Host, waits: bool):
    host.add("dies_in_intercept", name="guard")
    host.add("echo")
    host.start()
    reason = "it ended (exit 9)"
    for event in ("tool_call", "turn_start", "tool_call"):
        judgement, seconds = host.timed(host.ask, event, waits=waits)
        assert seconds < AT_ONCE
        assert judgement.missing == (MissingVerdict("guard", reason, False),)
    path = host.extension("guard").log.path
    assert host.said_of("guard") == [
        ("exited", f"{reason} with 1 call pending (log: {path})"),
        ("no_verdict", f"gave no verdict on tool_call: {reason}{ALLOWED}"),
        ("no_verdict", f"gave no verdict on turn_start: {reason}{ALLOWED}"),
        ("no_verdict", f"gave no verdict on tool_call: {reason}{ALLOWED}"),
    ]


@both_drivers
def test_a_guard_that_dies_between_two_verdicts_gives_no_second_one(host: Host, waits: bool):
    host.add("blocker", "tool_call", "no", on_failure="deny", restart=LATER)
    host.start()
    assert host.ask(waits=waits).reason == "no"
    os.kill(host.extension("blocker").pid, signal.SIGKILL)
    host.until(lambda: host.state("blocker") is WorkerState.BACKOFF)
    judgement = host.ask(waits=waits)
    assert judgement.blocked_by == "blocker"
    assert "it ended (signal SIGKILL)" in judgement.reason


@both_drivers
def test_a_guard_that_does_not_read_delays_each_verdict_once_at_most(host: Host, waits: bool):
    host.add("deaf", timeouts={"intercept": 0.3, "tool_call": 0.3})
    host.add("echo")
    host.start()
    large = json.dumps({"text": "x" * 100_000}).encode()
    judgement, seconds = host.timed(host.ask, waits=waits, tool_args=Raw(large))
    assert 0.3 <= seconds < AT_ONCE
    assert judgement.missing[0].reason == "no answer within 0.3 s"
    host.run_for(0.05)
    for _ in range(5):
        judgement = host.ask(waits=waits)
        assert judgement.missing[0].reason == "it has not read its stdin since an earlier request ran out of time"
    assert "has not read its stdin" in host.call("deaf").reason
    assert host.text("echo", text="fine") == "fine"
    host.stop(at_once=True)


@both_drivers
def test_a_full_outbox_refuses_a_question_at_once(host: Host, waits: bool):
    host.add("deaf", timeouts={"intercept": 60, "tool_call": 60})
    host.start()
    answers: list[ToolAnswer] = []
    child = host.extension("deaf").lead.child
    assert child is not None
    for size in (900_000, 90_000, 9_000, 900, 1):
        queued = -1
        while child.stdin.queued != queued:  # until one call does not fit
            queued = child.stdin.queued
            host.begin_call("deaf", json.dumps({"text": "x" * size}).encode(), answers.append)
    host.supervisor.cancel_pending("enough")
    host.until(lambda: "enough" in {answer.reason for answer in answers})
    judgement, seconds = host.timed(host.ask, waits=waits)
    assert seconds < AT_ONCE
    assert judgement.missing[0].reason.startswith("it does not read its stdin (")
    assert judgement.missing[0].reason.endswith(" bytes wait)")
    host.stop(at_once=True)


# --- whom a chain asks ------------------------------------------------------------------------------------------


@both_drivers
def test_a_verdict_goes_to_the_first_worker_that_is_up_also_if_it_is_busy(host: Host, waits: bool):
    code = (
        'hello("hold", intercept=["tool_call"])\nsend(type="ready")\nheld = None\nfor frame in frames():\n'
        '    if frame["type"] == "tool_call": held = frame\n'
        '    else: send(type="event_intercept_response", id=frame["id"], block=True, reason=str(os.getpid()))'
    )
    host.write("pool", code, workers=2)
    host.start()
    first, second = host.extension("pool").workers
    host.until(lambda: {first.state, second.state} == {WorkerState.READY})
    host.begin_call("hold", b"{}", lambda _answer: None)
    assert len(first.requests.pending) == 1, "the first worker is busy"
    assert host.ask(waits=waits).reason == str(first.pid)


MEETS = """
import glob
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    while len(glob.glob(os.path.join(sys.argv[1], "*"))) < 3: time.sleep(0.005)
    send(type="event_intercept_response", id=frame["id"], reason="met")
"""


@both_drivers
def test_independent_guards_are_asked_at_the_same_time(host: Host, tmp_path: Path, waits: bool):
    """Each of the three answers only when all three have been asked."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    for name in ("a", "b", "c"):
        host.write(name, MEETS.replace("sys.argv[1]", repr(str(meeting))), independent=True)
    host.start()
    judgement = host.ask(waits=waits)
    assert judgement.remarks == tuple(Remark(name, "met") for name in ("a", "b", "c"))
    assert judgement.missing == ()


@both_drivers
def test_the_guards_behind_a_rewrite_judge_what_it_made(host: Host, waits: bool):
    appends("-1", independent=True).add_to(host)
    appends("-2", independent=True).add_to(host)
    host.start()
    assert host.ask(waits=waits).args == b'{"path": "a-1-2"}'
    assert [host.cost(name).calls for name in ("appends-1", "appends-2")] == [1, 2]


@both_drivers
def test_a_block_does_not_wait_for_independent_guards_behind_it(host: Host, waits: bool):
    host.add("blocker", "tool_call", "no", independent=True)
    host.add("never_answers", independent=True, timeouts={"intercept": 60})
    host.start()
    judgement, seconds = host.timed(host.ask, waits=waits)
    assert (judgement.blocked_by, judgement.missing) == ("blocker", ())
    assert seconds < AT_ONCE
    assert host.cost("never_answers").calls == 1


@both_drivers
def test_a_reason_without_a_block_is_kept_as_a_remark(host: Host, waits: bool):
    Guard("note", answer=VERDICT + ', reason="seen\\nby me"').add_to(host)
    host.start()
    judgement = host.ask(waits=waits)
    assert judgement == Judgement(remarks=(Remark("note", "seen by me"),))
    assert host.said_of("note") == [("remark", "on tool_call: seen by me")]


def test_the_rest_of_a_large_question_is_written_while_the_host_waits(host: Host, monkeypatch: pytest.MonkeyPatch):
    """A sleep on the guard's output alone would keep the rest back."""
    host.add("echo")
    host.start()
    stdin, sleep, slept = host.extension("echo").child.stdin, PipeReader.sleep, []

    def watched(reader: PipeReader, timeout_s: float) -> bool:
        slept.append(stdin.queued)
        return sleep(reader, timeout_s)

    monkeypatch.setattr(PipeReader, "sleep", watched)
    large = json.dumps({"text": "x" * 500_000}).encode()
    assert host.ask(tool_args=Raw(large)) == UNTOUCHED
    assert not any(slept)


# --- in flight only ---------------------------------------------------------------------------------------------


def test_several_verdicts_in_flight_do_not_mix(host: Host, in_flight: RequestsInFlight):
    for guard in (appends("+1"), appends("+2")):
        guard.add_to(host)
    host.start()
    for number in range(50):
        in_flight.verdict(f"{number}", tool_args=Raw(b'{"path": "%d"}' % number))
    judgements = in_flight.until_all()
    assert [judgements[f"{number}"].args for number in range(50)] == [
        b'{"path": "%d+1+2"}' % number for number in range(50)
    ]


def test_a_verdict_that_is_cancelled_blocks_and_asks_no_further_guard(host: Host, in_flight: RequestsInFlight):
    host.add("never_answers", priority=2, timeouts={"intercept": 60})
    host.add("blocker", "tool_call", "no", priority=1)
    host.start()
    verdict = in_flight.verdict("it")
    host.until(lambda: host.extension("never_answers").lead.requests.pending)
    verdict.cancel("no more interest")
    judgement = in_flight.until_all()["it"]
    assert (judgement.blocked_by, judgement.reason) == ("host", "no more interest")
    assert host.cost("blocker").calls == 0
    assert (host.cost("never_answers").blocks, host.cost("never_answers").errors) == (0, 0)
    assert host.said_of("never_answers") == []
