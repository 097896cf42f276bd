"""`agent.bisect.outcome`."""

from __future__ import annotations

import json

from agent.bisect.outcome import TrialEnding, as_stdout, outcome_of
from agent.trial.plan import FoundNames, MadeCall, NoReplyLeft, RanTool, RecordedCall, SentRequest, ShownDifference

ENDING = TrialEnding(0, 1.5)


def lines(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def result_of(call: str, text: str) -> dict:
    return {"type": "tool_result", "id": call, "content": [{"type": "text", "text": text}]}


def test_results_that_come_from_the_recording_are_left_out_but_not_those_that_guards_have_changed():
    report = [RecordedCall("t1", ("recorded",)), RecordedCall("t2", ("recorded",))]
    stdout = lines(result_of("t1", "recorded"), result_of("t2", "changed"), result_of("t3", "recorded"))
    outcome = outcome_of(ENDING, stdout, b"", report)
    assert [event["id"] for event in outcome.events] == ["t2", "t3"]
    assert as_stdout(outcome, as_json=True).count(b"\n") == 2


def test_the_report_says_what_the_stream_does_not():
    first, second = ShownDifference("a", "model", "…"), ShownDifference("b", "messages[1]", "…")
    call = RanTool("bash", "{}")
    report = [
        FoundNames(("x", "y")),
        SentRequest(1, (first,)),
        MadeCall(call),
        SentRequest(2, (second,)),
        NoReplyLeft(),
    ]
    stdout = lines(
        {"type": "tool_call", "id": "t1", "name": "look", "extension": "x"}, {"type": "tool_call", "name": "bash"}
    )
    outcome = outcome_of(ENDING, stdout, b"", report)
    assert (outcome.names, outcome.owners, outcome.ran) == (("x", "y"), {"look": "x"}, (call,))
    assert (outcome.requests, outcome.first, outcome.differences) == (2, (first,), (first, second))
    assert outcome.ran_dry


def test_a_run_that_was_killed_has_a_status_and_no_text():
    outcome = outcome_of(ENDING, b'{"type":"session"}\n[]\n{"type":"resu', b"\xff", ())
    assert (outcome.status, outcome.text, outcome.peaks, len(outcome.events)) == ("killed", "", {}, 1)
    assert as_stdout(outcome, as_json=False) == b""


def test_the_answer_is_what_print_prints():
    outcome = outcome_of(ENDING, lines({"type": "result", "status": "ok", "text": "done"}), b"", ())
    assert as_stdout(outcome, as_json=False) == b"done\n"
