"""Verdicts of guards beyond allow, block and rewrite: through whole runs, with real extensions."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent.run import run as run_of_a_prompt
from tests.support.faulty_run import ECHO, Observed, observe, program
from wire import events

if TYPE_CHECKING:
    from pathlib import Path

    from wire.events import Record

GUARD = """
hello("brittle", intercept={points!r})
send(type="ready")
tries = 0
with open(sys.argv[1], "a") as log:
    for frame in frames():
        if frame["type"] == "tool_call":
            tries += 1
            good = tries > {failures}
            text = "done" if good else "broken"
            send(type="tool_result", id=frame["id"], is_error=not good, content=[dict(type="text", text=text)])
            continue
        log.write(json.dumps(frame) + "\\n")
        log.flush()
        send(type="event_intercept_response", id=frame["id"], **{answers!r}.get(frame["event"], {{}}))
"""
OVERLOADED = {"type": "error", "kind": "overloaded", "message": "too busy", "status": 529}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_of_a_prompt, "RETRY_PAUSE_S", 0.01)


def guarded(place: Path, answers: dict[str, Any], *, failing: int = 0, name: str = "guard", **asked: Any) -> Observed:
    """A run whose guard gives these answers. The guard has a tool `brittle`, whose first calls fail."""
    source = GUARD.format(points=list(answers), answers=answers, failures=failing)
    manifest = asked.pop("manifest", {})
    return observe(place, program(place, name, source, place / "asked", **manifest), **asked)


def asked(place: Path, event: str) -> list[dict[str, Any]]:
    """The questions to the guard about this event, without the id and the type of the frame."""
    frames = [json.loads(line) for line in (place / "asked").read_text().splitlines()]
    found = [frame for frame in frames if frame["event"] == event]
    return [{k: v for k, v in frame.items() if k not in ("id", "type", "event")} for frame in found]


def notices(seen: Observed, kind: str) -> list[str]:
    return [r.message for r in seen.records if isinstance(r, events.Extension) and r.event == kind]


def of_type(seen: Observed, kind: type[Record]) -> list[Any]:
    return [record for record in seen.records if isinstance(record, kind)]


def session_file(place: Path) -> str:
    (path,) = (place / "home").glob("sessions/*/*.jsonl")
    return path.read_text()


# --- context for the model ------------------------------------------------------------------------------------


def test_context_of_the_start_and_of_the_prompt_follow_the_prompt(tmp_path: Path):
    answers = {
        "session_start": {"additional_context": "the branch is main"},
        "user_prompt": {"additional_context": "be brief", "replace_text": "go slowly"},
    }
    seen = guarded(tmp_path, answers)
    texts = ["go slowly", "the branch is main", "be brief"]
    assert [part["text"] for part in seen.requests[0]["messages"][0]["content"]] == texts
    (message,) = of_type(seen, events.UserMessage)
    assert [part.text for part in message.content] == texts
    assert all(f'"{text}"' in session_file(tmp_path) for text in texts)
    assert asked(tmp_path, "session_start") == [{"source": "startup", "text": "go slowly"}]
    assert notices(seen, "context") == [
        "adds 8 characters for the model on the prompt",
        "adds 18 characters for the model on the start of the session",
    ]
    assert not any("characters for the model" in line for line in seen.stderr)


def test_context_of_a_call_and_of_its_result_follow_the_result(tmp_path: Path):
    answers = {
        "tool_call": {"additional_context": "from the call"},
        "tool_result": {"additional_context": "from the result"},
    }
    seen = guarded(tmp_path, answers, batches=[[ECHO]])
    (result,) = of_type(seen, events.ToolResult)
    texts = ["still here", "from the call", "from the result"]
    assert [part.text for part in result.content] == texts
    told = seen.requests[1]["messages"][2]["content"][0]["content"]
    assert [part["text"] for part in told] == texts


def test_a_guard_of_results_is_asked_with_the_arguments_that_guards_have_left(tmp_path: Path):
    guarded(tmp_path, {"tool_call": {"modified_args": {"text": "other"}}, "tool_result": {}}, batches=[[ECHO]])
    (told,) = asked(tmp_path, "tool_result")
    assert told["tool_args"] == {"text": "other"}


def test_a_result_that_is_withheld_has_no_context(tmp_path: Path):
    answers = {
        "tool_call": {"additional_context": "from the call"},
        "tool_result": {"block": True, "reason": "secret", "additional_context": "more"},
    }
    assert guarded(tmp_path, answers, batches=[[ECHO]]).answer_of("t1.0") == ("secret", True)


# --- a person has to decide -----------------------------------------------------------------------------------

ASKS = {"tool_call": {"ask": True, "reason": "it writes"}}


def test_without_a_person_it_is_refused_with_the_reason(tmp_path: Path):
    seen = guarded(tmp_path, ASKS, batches=[[ECHO]])
    told = "it writes (guard guard wants a person to decide, and no user can be asked here)"
    assert seen.answer_of("t1.0") == (told, True)
    (notice,) = notices(seen, "asked")
    assert notice.startswith("wants a person to decide on a call of echo: it writes; refused")
    assert any("--allow-asked" in line for line in seen.stderr)
    assert seen.result.extensions["guard"].blocks == 1


def test_the_user_can_let_it_pass(tmp_path: Path):
    seen = guarded(tmp_path, ASKS, batches=[[ECHO]], allow_asked=True)
    assert seen.answer_of("t1.0") == ("still here", False)
    assert notices(seen, "asked") == ["wants a person to decide on a call of echo: it writes; allowed (--allow-asked)"]


def test_the_settings_can_let_it_pass(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.json").write_text('{"allow_asked": true}')
    assert guarded(tmp_path, ASKS, batches=[[ECHO]], home=home).answer_of("t1.0") == ("still here", False)


# --- errors ---------------------------------------------------------------------------------------------------


def test_a_failed_request_is_made_again(tmp_path: Path):
    answers = {"error": {"error_handling": "retry", "retry_count": 2, "notification": "busy, I try again"}}
    seen = guarded(tmp_path, answers, failures=[OVERLOADED] * 2)
    assert (seen.result.status, seen.result.text, seen.result.steps) == ("ok", "all done", 1)
    assert [retry.attempt for retry in of_type(seen, events.Retry)] == [2, 3]
    assert {retry.of for retry in of_type(seen, events.Retry)} == {3}
    question = {"error": "too busy", "error_context": "model_call", "recoverable": True}
    assert asked(tmp_path, "error") == [question] * 2
    assert [note.message for note in of_type(seen, events.ExtNotify)] == ["busy, I try again"] * 2
    assert len(seen.requests) == 3
    assert all(request["messages"] == seen.requests[0]["messages"] for request in seen.requests)
    assert notices(seen, "error_handling")[0] == "says retry (at most 2) after an error: too busy"


def test_retries_end_and_then_the_error_counts(tmp_path: Path):
    answers = {"error": {"error_handling": "retry", "retry_count": 50}}
    seen = guarded(tmp_path, answers, failures=[OVERLOADED] * 9)
    assert (seen.result.status, seen.result.reason) == ("rate_limit", "too busy")
    assert len(seen.requests) == 4, "three retries at most"
    assert len(asked(tmp_path, "error")) == 4


@pytest.mark.parametrize(("kind", "status"), [("authentication", 401), ("request", 400), ("request", 404)])
def test_an_error_that_a_retry_cannot_mend_is_not_retried(tmp_path: Path, kind: str, status: int):
    refused = {"type": "error", "kind": kind, "message": "refused", "status": status}
    seen = guarded(tmp_path, {"error": {"error_handling": "retry"}}, failures=[refused])
    assert len(seen.requests) == 1
    assert asked(tmp_path, "error") == [{"error": "refused", "error_context": "model_call", "recoverable": False}]


def test_other_errors_are_told_once(tmp_path: Path):
    seen = guarded(tmp_path, {"error": {"notification": "sorry"}}, batches=[[ECHO]] * 3, max_steps=1)
    assert seen.result.status == "max_steps"
    told = {"error": "max steps (1) exceeded", "error_context": "system", "recoverable": False}
    assert asked(tmp_path, "error") == [told]
    assert [note.message for note in of_type(seen, events.ExtNotify)] == ["sorry"]


def test_a_tool_that_fails_is_tried_again(tmp_path: Path):
    answers = {"error": {"error_handling": "retry", "retry_count": 3}}
    seen = guarded(tmp_path, answers, failing=2, batches=[[("brittle", {})]])
    assert seen.answer_of("t1.0") == ("done", False)
    question = {"error": "broken", "error_context": "tool_execution", "recoverable": True}
    assert asked(tmp_path, "error") == [question | {"tool_id": "t1.0", "tool_name": "brittle"}] * 2


@pytest.mark.parametrize("handling", [{}, {"error_handling": "skip"}, {"error_handling": "retry", "retry_count": 0}])
def test_else_the_model_gets_the_error(tmp_path: Path, handling: dict[str, Any]):
    seen = guarded(tmp_path, {"error": handling}, failing=9, batches=[[("brittle", {})]])
    assert (seen.answer_of("t1.0"), seen.result.status) == (("broken", True), "ok")
    assert len(asked(tmp_path, "error")) == 1


def test_a_guard_can_end_the_prompt_after_an_error_of_a_tool(tmp_path: Path):
    seen = guarded(tmp_path, {"error": {"error_handling": "abort"}}, failing=9, batches=[[("brittle", {}), ECHO]])
    why = "guard guard ends the prompt after an error of brittle: broken"
    assert (seen.result.status, seen.result.exit_code, seen.result.reason) == ("blocked", 3, why)
    assert seen.answer_of("t1.0") == ("broken", True)
    assert seen.answer_of("t1.1") == (f"not run: {why}", True)


# --- the end of the session -----------------------------------------------------------------------------------


def test_a_summary_is_kept_with_the_session(tmp_path: Path):
    seen = guarded(tmp_path, {"session_end": {"session_summary": "echoed\nonce"}}, batches=[[ECHO]])
    assert asked(tmp_path, "session_end") == [{"reason": "complete", "text": "all done"}]
    assert json.loads(session_file(tmp_path).splitlines()[-1]) == {"type": "summary", "summary": "echoed\nonce"}
    assert notices(seen, "summary") == ["sums up the session: echoed once"]


def test_the_end_says_why(tmp_path: Path):
    guarded(tmp_path, {"session_end": {}}, batches=[[ECHO]] * 3, max_steps=1)
    assert asked(tmp_path, "session_end") == [{"reason": "error", "error": "max steps (1) exceeded"}]


def test_a_session_that_never_began_has_no_end(tmp_path: Path):
    answers = {"user_prompt": {"block": True}, "session_start": {}, "session_end": {}}
    seen = guarded(tmp_path, answers)
    assert seen.result.status == "blocked"
    assert asked(tmp_path, "session_start") == asked(tmp_path, "session_end") == []


def test_a_guard_of_the_end_that_hangs_costs_its_timeout(tmp_path: Path):
    source = """
hello(intercept=["session_start", "session_end", "error"])
send(type="ready")
for frame in frames():
    pass
"""
    guard = program(tmp_path, "guard", source, on_failure="deny", timeouts={"intercept": 0.3})
    seen = observe(tmp_path, guard, strict_guards=True)
    assert (seen.result.status, seen.result.text) == ("ok", "all done"), "what has happened cannot be denied"
    missing = notices(seen, "no_verdict")
    assert [line.split(":")[0] for line in missing] == [
        "gave no verdict on session_start", "gave no verdict on session_end"
    ]  # fmt: skip
    assert all(line.endswith("nothing depends on it") for line in missing)


def test_a_run_that_ran_out_of_time_waits_two_seconds_for_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agent.run.session_hooks.ABORTED_S", 0.2)
    source = """
hello(intercept=["session_end"])
send(type="ready")
for frame in frames():
    with open(sys.argv[1], "a") as log:
        log.write(json.dumps(frame) + "\\n")
"""
    guard = program(tmp_path, "guard", source, tmp_path / "asked", timeouts={"intercept": 600.0})
    seen = observe(tmp_path, guard, hold={1: lambda _supervisor: False}, timeout=2.0)
    assert seen.result.status == "timeout"
    assert asked(tmp_path, "session_end") == [{"reason": "timeout"}]


def test_the_guards_of_the_end_are_asked_at_the_same_time(tmp_path: Path):
    """The first answers only when the second has been asked."""
    os.mkfifo(tmp_path / "pipe")
    source = """
hello({name!r}, intercept=["session_end"])
send(type="ready")
for frame in frames():
    with open(sys.argv[1], {mode!r}):
        send(type="event_intercept_response", id=frame["id"], session_summary={name!r})
"""
    folders = [
        program(tmp_path, name, source.format(name=name, mode=mode), tmp_path / "pipe", timeouts={"intercept": 60.0})
        for name, mode in (("first", "r"), ("second", "w"))
    ]
    seen = observe(tmp_path, *folders)
    assert notices(seen, "no_verdict") == []
    assert notices(seen, "summary") == ["sums up the session: first", "sums up the session: second"]
    assert json.loads(session_file(tmp_path).splitlines()[-1]) == {"type": "summary", "summary": "second"}


def test_the_guards_of_the_end_may_have_a_time_together(tmp_path: Path):
    source = """
hello(intercept=["session_end"])
send(type="ready")
for frame in frames():
    pass
"""
    guard = program(tmp_path, "guard", source, timeouts={"intercept": 600.0})
    seen = observe(tmp_path, guard, end_within_s=0.1)
    assert seen.result.status == "ok"
