"""Asks of real guards that a person decides, by both drivers and in calls that extensions make."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.calls import calls_by_extensions
from supervisor.calls.guard_chain import Judgement
from supervisor.calls.verdict_request import GIVEN_UP, VerdictInFlight, VerdictRequests
from tests.supervisor.calls.test_verdict_drivers import (
    PROMPT,
    FakeExtension,
    FakeLoop,
    guards_of,
    resolve_all,
    waiting_for,
)
from tests.support.callers import add_caller, call, text_of
from tests.support.host import Host
from tests.support.person import Person
from wire.dialects.base import GuardAnswer
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.permissions import Question
    from tests.support.requests_in_flight import RequestsInFlight

both_drivers = pytest.mark.parametrize("waits", [True, False], ids=["waits", "in_flight"])
GUARD = """
hello({tools}, intercept=[{event!r}])
send(type="ready")
heard = []
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, json.dumps(heard))
        continue
    heard.append(frame.get("tool_args") or frame.get("text"))
    send(type="event_intercept_response", id=frame["id"], **{answer!r})
"""


def add_guard(host: Host, name: str, event: str = "tool_call", manifest: Any = None, **answer: Any) -> None:
    """Adds a guard with this answer. Its tool `NAME_heard` tells of its questions."""
    host.write(name, GUARD.format(tools=repr(f"{name}_heard"), event=event, answer=answer), **manifest or {})


def heard(host: Host, name: str) -> Any:
    return json.loads(host.text(f"{name}_heard"))


@both_drivers
def test_what_is_allowed_keeps_its_rewrite_and_its_context_and_later_guards_are_asked(host: Host, waits: bool):
    add_guard(host, "first", modified_args={"path": "b"})
    add_guard(host, "asks", ask=True, reason="it reads", modified_args={"path": "c"}, additional_context="mind it")
    add_guard(host, "last")
    host.start()
    person = Person(host, lambda question: person.permissions.allow(question.id))
    judgement = host.ask(waits=waits)
    (question,) = person.asked
    assert (question.extension, question.verdict.reason) == ("asks", "it reads")
    assert bytes(question.event.tool_args) == b'{"path": "b"}', "as the guards before it have left them"  # type: ignore[arg-type]
    assert (judgement.is_blocked, judgement.args, judgement.contexts) == (False, b'{"path": "c"}', ("mind it",))
    assert person.ended == [("q1", "allowed", "")]
    assert heard(host, "last") == [{"path": "c"}]
    assert ("asked", "wants a person to decide on a call of read: it reads; the user allowed it") in host.said_of(
        "asks"
    )
    assert host.cost("asks").blocks == 0


@both_drivers
def test_what_is_denied_is_blocked_by_that_guard_and_no_later_one_is_asked(host: Host, waits: bool):
    add_guard(host, "asks", ask=True, reason="it reads", modified_args={"path": "c"})
    add_guard(host, "last")
    host.start()
    person = Person(host, lambda question: person.permissions.deny(question.id, "not today"))
    judgement = host.ask(waits=waits)
    reason = "the user refused: not today (guard asks asked: it reads)"
    assert judgement == Judgement(blocked_by="asks", reason=reason, decided_for="asks")
    assert person.ended == [("q1", "denied", "not today")]
    assert heard(host, "last") == []
    assert ("asked", f"wants a person to decide on a call of read: {reason}") in host.said_of("asks")
    assert host.cost("asks").blocks == 1


@both_drivers
@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("user_prompt", {"text": "go"}),
        ("turn_start", {"step": 1}),
        ("assistant_message", {"text": "hm"}),
        ("tool_result", {"tool_id": "t", "tool_name": "read", "is_error": False, "content": []}),
    ],
)
def test_each_event_that_can_be_denied_is_asked_about(host: Host, event: str, fields: Any, waits: bool):
    add_guard(host, "asks", event, ask=True)
    host.start()
    person = Person(host, lambda question: person.permissions.deny(question.id))
    assert host.ask(event, waits=waits, **fields).reason == "the user refused (guard asks asked)"
    assert [question.event.event for question in person.asked] == [event]


@both_drivers
def test_nobody_is_asked_about_what_has_happened_and_what_is_allowed_anyway(tmp_path: Path, waits: bool):
    with Host(tmp_path, allow_asked=True) as host:
        add_guard(host, "asks", ask=True)
        add_guard(host, "late", "error", ask=True)
        host.start()
        person = Person(host)
        assert not host.ask(waits=waits).is_blocked
        assert not host.ask("error", error="no", waits=waits).is_blocked
        assert person.asked == []


@both_drivers
def test_an_interruption_cancels_the_question(host: Host, waits: bool):
    add_guard(host, "asks", ask=True)
    add_guard(host, "last")
    host.start()
    person = Person(host, lambda _question: host.supervisor.cancel_pending("interrupted"))
    assert host.ask(waits=waits) == Judgement(blocked_by="host", reason="interrupted")
    assert person.ended == [("q1", "cancelled", "interrupted")]
    assert heard(host, "last") == []


@both_drivers
def test_it_is_refused_as_without_a_person_when_the_person_leaves(host: Host, waits: bool):
    add_guard(host, "asks", ask=True, reason="it reads")
    host.start()
    person = Person(host, lambda _question: person.permissions.leave("stdin has ended"))
    told = "it reads (guard asks wants a person to decide, and no user can be asked here)"
    assert host.ask(waits=waits) == Judgement(blocked_by="asks", reason=told)
    assert host.ask(waits=waits).reason == told, "and is not asked again"
    assert person.ended == [("q1", "cancelled", "stdin has ended")]


def test_a_wait_that_is_given_up_ends_the_question(host: Host):
    """A run that is aborted waits for nothing any longer."""
    add_guard(host, "asks", ask=True)
    host.start()
    person = Person(host)
    person.permissions.wait = lambda _predicate: False
    assert host.ask() == Judgement(blocked_by="host", reason=GIVEN_UP)
    assert person.ended == [("q1", "cancelled", GIVEN_UP)]


def test_several_questions_are_open_at_the_same_time(in_flight: RequestsInFlight):
    host = in_flight.host
    add_guard(host, "asks", ask=True)
    host.start()
    person = Person(host)
    for name in "abc":
        in_flight.verdict(name, tool_id=name)
    host.until(lambda: len(person.asked) == 3)
    assert person.permissions.open_ids == ["q1", "q2", "q3"]
    by_call = {question.event.tool_id: question.id for question in person.asked}
    person.permissions.deny(by_call["c"])
    host.until(lambda: in_flight.answers["c"])
    person.permissions.allow(by_call["a"])
    person.permissions.deny(by_call["b"])
    judged = in_flight.until_all()
    assert {name: judgement.is_blocked for name, judgement in judged.items()} == {"a": False, "b": True, "c": True}


def test_only_the_question_of_a_verdict_that_is_cancelled_ends(in_flight: RequestsInFlight):
    host = in_flight.host
    add_guard(host, "asks", ask=True)
    host.start()
    person = Person(host)
    first, _ = in_flight.verdict("a"), in_flight.verdict("b")
    host.until(lambda: len(person.asked) == 2)
    first.cancel("no longer wanted")
    assert person.ended == [("q1", "cancelled", "no longer wanted")]
    person.permissions.allow("q2")
    judged = in_flight.until_all()
    assert judged["a"] == Judgement(blocked_by="host", reason="no longer wanted")
    assert not judged["b"].is_blocked


@both_drivers
def test_a_guard_that_dies_while_its_question_is_open_has_said_its_verdict(host: Host, waits: bool):
    add_guard(host, "asks", ask=True, manifest={"on_failure": "deny"})
    host.start()

    def decide(question: Question) -> None:
        os.kill(host.extension("asks").pid, signal.SIGKILL)
        host.loop.call_later(0, lambda: person.permissions.allow(question.id))

    person = Person(host, decide)
    assert not host.ask(waits=waits).is_blocked


# --- calls of extensions ----------------------------------------------------------------------------------------


def with_caller(host: Host, **timeouts: float) -> Host:
    """Starts a caller with the tool `ask`, and a guard that asks about calls of the tool `echo`."""
    add_guard(host, "asks", ask=True, reason="it echoes")
    host.add("echo", name="echo")
    add_caller(host, "caller", "ask", timeouts=timeouts)
    return host.start()


@pytest.fixture
def nested(host: Host) -> Host:
    return with_caller(host)


def begin(host: Host, person: Person, *say: Any) -> tuple[Any, list[Any]]:
    answers: list[Any] = []
    asked = host.begin_call("ask", json.dumps({"say": say}).encode(), answers.append)
    host.until(lambda: person.asked)
    return asked, answers


def test_no_time_limit_of_a_call_runs_while_a_person_decides(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calls_by_extensions, "CALL_S", 1.0)
    nested = with_caller(host, tool_call=1.0)
    person = Person(nested)
    _, answers = begin(nested, person, call("echo", text="hi"))
    assert (person.asked[0].event.tool_name, person.asked[0].event.origin_extension) == ("echo", "caller")
    nested.run_for(1.5)  # longer than both limits: that of the call, and that of the one for which it is made
    assert (answers, person.ended) == ([], [])
    person.permissions.allow("q1")
    nested.until(lambda: answers)
    (got,) = json.loads(answers[0].frame.content[0].text)
    assert (text_of(got), bool(got.get("is_error"))) == ("hi", False)


def test_the_end_of_the_call_for_which_it_is_made_cancels_the_question(nested: Host):
    person = Person(nested)
    asked, answers = begin(nested, person, call("echo", text="hi"))
    asked.cancel("enough")
    nested.until(lambda: answers and person.ended)
    why = "the call of ask for which it was made was given up: enough"
    assert person.ended == [("q1", "cancelled", why)]
    assert not nested.supervisor.calls_by_extensions.open


def test_the_death_of_the_caller_cancels_the_question(nested: Host):
    person = Person(nested)
    _, answers = begin(nested, person, call("echo", text="hi"))
    os.kill(nested.extension("caller").pid, signal.SIGKILL)
    nested.until(lambda: answers and person.ended)
    ((_, decision, why),) = person.ended
    assert decision == "cancelled"
    assert "caller" in why or "given up" in why
    assert not nested.supervisor.calls_by_extensions.open


# --- both drivers, any order ------------------------------------------------------------------------------------

ASKS = [
    GuardVerdict(VerdictKind.ASK, "sure?"),
    GuardVerdict(VerdictKind.ASK, replace_text="a longer text"),
    GuardVerdict(VerdictKind.ALLOW, replace_text="short"),
    GuardVerdict(VerdictKind.DENY, "no"),
]
ANSWERS = st.sampled_from([GuardAnswer("1", verdict) for verdict in (*ASKS[:2] * 2, *ASKS, ALLOW, ALLOW)])
EXTENSIONS = st.lists(st.tuples(st.lists(ANSWERS, min_size=1, max_size=2).map(tuple), st.booleans()), max_size=4).map(
    lambda given: [FakeExtension(f"g{number}", *each, False) for number, each in enumerate(given)]
)


@given(EXTENSIONS, st.data())
def test_both_drivers_judge_alike_with_the_same_decisions(extensions: list[FakeExtension], data: st.DataObject):
    loop: Any = FakeLoop()
    guards = guards_of(loop, extensions)
    permissions, open_ = guards.permissions, []
    decisions: dict[str, str] = {}

    def decide() -> None:
        question = open_.pop()
        if question.extension not in decisions:
            decisions[question.extension] = data.draw(st.sampled_from(["allow", "deny"]))
        getattr(permissions, decisions[question.extension])(question.id)

    permissions.expect_person(open_.append, lambda _question: None, lambda _predicate: decide())
    judgement = VerdictRequests(loop, guards).judge(PROMPT)
    asked = list(decisions)
    ended: list[Judgement] = []
    VerdictInFlight(loop, guards, PROMPT, ended.append)
    loop.run()
    while not ended:
        waiting = waiting_for(extensions)
        if open_ and (waiting is None or data.draw(st.booleans())):
            decide()
        else:
            assert waiting is not None
            extension, pending, event = data.draw(waiting)
            extension.resolve(pending, event)
        loop.run()
    resolve_all(extensions)
    loop.run()
    assert ended == [judgement]
    assert (permissions.open_ids, list(decisions)) == ([], asked)


@given(EXTENSIONS, st.integers(0, 8), st.booleans(), st.data())
def test_a_verdict_that_is_cancelled_leaves_no_question(
    extensions: list[FakeExtension], steps: int, cancels_all: bool, data: st.DataObject
):
    loop: Any = FakeLoop()
    guards = guards_of(loop, extensions)
    permissions = guards.permissions
    permissions.expect_person(lambda _question: None, lambda _question: None, lambda _predicate: None)
    ended: list[Judgement] = []
    verdict = VerdictInFlight(loop, guards, PROMPT, ended.append)
    for _ in range(steps):
        loop.run()
        if permissions.open_ids and data.draw(st.booleans()):
            data.draw(st.sampled_from([permissions.allow, permissions.deny]))(permissions.open_ids[0])
        elif (waiting := waiting_for(extensions)) is not None:
            extension, pending, event = data.draw(waiting)
            extension.resolve(pending, event)
        elif permissions.open_ids:
            assert all(timer.callback is None for timer in loop.deadlines), "no deadline runs for the person"
    was_over = bool(ended)
    if cancels_all:
        guards.cancel("interrupted")
        for extension in extensions:
            for pending, _ in extension.open():
                extension.cancel(pending, "interrupted")
    else:
        verdict.cancel("interrupted")
    assert permissions.open_ids == []
    loop.run()
    assert len(ended) == 1
    assert was_over or ended[0] == Judgement(blocked_by="host", reason="interrupted")
