"""The evidence in the answers of two sessions."""

from __future__ import annotations

import pytest

from supervisor.harness.session_evidence import judge_leases, judge_sessions
from supervisor.harness.session_trial import PlayedSession, SessionTrial, TriedCall
from wire import frames
from wire.dialects.base import RunSession

FIRST = PlayedSession("first", RunSession("s1", "/tmp/one"), "secret-1")
SECOND = PlayedSession("second", RunSession("s2", "/tmp/two"), "secret-2")
OWN = "/ext/files"


def answer(text: str, *, named: str | None = None) -> frames.ToolResult:
    return frames.ToolResult("1", [frames.ContentBlock("text", text)], session_id=named)


def evidence(first: frames.ToolResult | None, second: frames.ToolResult | None) -> list[tuple[bool, str]]:
    calls = [TriedCall("read", FIRST, first), TriedCall("read", SECOND, second)]
    trial = SessionTrial((FIRST, SECOND), "probe", calls)
    return [(each.is_fault, each.message) for each in judge_sessions(trial, OWN)]


GOOD = answer("it is secret-2")


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (answer("it is secret-2"), "answers a call of the first session with what is in the folder of the second"),
        (answer("see /tmp/two/x"), "answers a call of the first session with what is in the folder of the second"),
        (answer("it is secret-1", named="s2"), "answers a call of the first session for session 's2'"),
        (answer("it is secret-1", named="\x1b[2Jx"), "answers a call of the first session for session 'x'"),
        (answer("ENOENT: open '/ext/files/probe.txt'"), "looks for a relative path in its own folder"),
        (answer("No such file: 'probe.txt'"), "does not find a file of the session's folder by its relative path"),
    ],
)
def test_confusion_is_a_fault_with_the_answer_as_evidence(first: frames.ToolResult, message: str):
    assert evidence(first, GOOD) == [(True, f"read {message}")]
    calls = [TriedCall("read", FIRST, first), TriedCall("read", SECOND, GOOD)]
    (found,) = judge_sessions(SessionTrial((FIRST, SECOND), "probe", calls), OWN)
    assert found.lines[0].startswith(calls[0].text[:10].strip())
    assert found.advice


@pytest.mark.parametrize(
    ("first", "outcome"),
    [
        (answer("it is secret-1", named="s1"), "found what is in the folder of each; nothing else was tried"),
        (None, "gave no answer within 2 s"),
        (answer("done"), "showed neither that it confuses them nor that it keeps them apart"),
        (
            answer("not a folder: /tmp/one/probe.txt"),
            "showed neither that it confuses them nor that it keeps them apart",
        ),
        (answer("x is no pattern for probe.txt"), "showed neither that it confuses them nor that it keeps them apart"),
    ],
)
def test_all_else_is_no_fault_and_no_praise(first: frames.ToolResult | None, outcome: str):
    assert evidence(first, GOOD) == [(False, f"read, called in two sessions at once, {outcome}")]


def test_it_is_said_what_was_not_tried():
    trial = SessionTrial((FIRST, SECOND), "probe", untried=["write", "move"])
    assert [each.message for each in judge_sessions(trial, OWN)] == [
        "not tried with two sessions, as they may write: write, move"
    ]
    (none,) = judge_sessions(SessionTrial((FIRST, SECOND), "probe"), OWN)
    assert none.message == "not tried with two sessions: no tool has a path among its arguments"


@pytest.mark.parametrize(
    ("is_announced", "ready_s", "expected"),
    [
        (False, [], [(True, "its hello does not announce the feature leases: it stays private")]),
        (True, [0.0034, 0.001], [
            (False, "lease_ready came 3 ms after the first lease_begin"),
            (False, "lease_ready came 1 ms after the one after lease_end"),
        ]),
        (True, [None, None], [
            (True, "it did not answer the first lease_begin within 2 s: a host replaces it"),
            (True, "it did not answer the one after lease_end within 2 s: a host replaces it"),
        ]),
    ],
)  # fmt: skip
def test_leases_are_announced_and_answered_or_not(is_announced, ready_s, expected):
    trial = SessionTrial(is_announced=is_announced, ready_s=ready_s)
    assert [(each.is_fault, each.message) for each in judge_leases(trial)] == expected
