"""Guards and observers of prompts, tool results, errors and the end of a run, with real extensions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faulty_run import ECHO, Observed, guarded, observe, program
from wire import events

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = (
    "session_start", "user_prompt_submit", "user_prompt", "turn_start", "assistant_message", "tool_call", "turn_end",
    "permission_decision", "tool_result", "pre_compact", "post_compact", "tool_confirmation_requested", "error",
    "session_end",
)  # fmt: skip
OBSERVER = f"""
hello(events={EVENTS})
send(type="ready")
with open(sys.argv[1], "w") as seen:
    for line in sys.stdin:
        seen.write(line)
        seen.flush()
        if json.loads(line)["type"] == "shutdown":
            break
"""


def model_was_told(seen: Observed) -> list[Any]:
    """The text of the prompt, and what came back of the tool."""
    messages = seen.requests[-1]["messages"]
    return [messages[0]["content"][0]["text"], messages[2]["content"][0]]


def test_an_observer_sees_the_whole_run_in_order(tmp_path: Path):
    log = tmp_path / "seen"
    seen = observe(tmp_path, program(tmp_path, "observer", OBSERVER, log), batches=[[ECHO]])
    frames = [json.loads(line) for line in log.read_text().splitlines()]
    told = [frame for frame in frames if frame["type"] == "event"]
    assert [frame["event"] for frame in told] == [
        "session_start", "user_prompt_submit", "user_prompt", "turn_start", "assistant_message", "tool_call",
        "turn_end", "permission_decision", "tool_result", "turn_start", "assistant_message", "turn_end", "session_end",
    ]  # fmt: skip
    assert frames[-1] == {"type": "shutdown"}
    assert [frame["sequence"] for frame in told] == sorted({frame["sequence"] for frame in told})
    (session,) = {(frame.pop("session_id"), frame.pop("cwd")) for frame in told}
    assert session == (seen.result.session, str(tmp_path / "project"))
    assert told[1] == {"type": "event", "event": "user_prompt_submit", "text": "go", "sequence": told[1]["sequence"]}
    assert told[2] == {"type": "event", "event": "user_prompt", "text": "go", "sequence": told[2]["sequence"]}
    stops = [frame["stop"] for frame in told if frame["event"] == "turn_end"]
    assert stops == ["tool_use", "end"], "zot's word, which its extensions compare with"
    content = [{"type": "text", "text": "still here"}]
    assert told[8] == {
        "type": "event",
        "event": "tool_result",
        "tool_id": "t1.0",
        "tool_name": "echo",
        "is_error": False,
        "content": content,
        "tool_args": {"text": "still here"},
        "status": "completed",
        "executed": True,
        "sequence": told[8]["sequence"],
        "result": {"content": content, "is_error": False},
    }


def test_an_observer_hears_of_an_error_and_then_of_the_end(tmp_path: Path):
    log = tmp_path / "seen"
    seen = observe(tmp_path, program(tmp_path, "observer", OBSERVER, log), batches=[[ECHO]] * 3, max_steps=1)
    assert seen.result.status == "max_steps"
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [frame.get("event") for frame in told[-3:]] == ["error", "session_end", None]
    assert told[-3]["error"] == "max steps (1) exceeded"


def test_a_guard_reads_arguments_that_the_model_has_written_on_several_lines(tmp_path: Path):
    """Half a line is no question: the guard would die of it, and the call pass."""
    guard = program(
        tmp_path,
        "guard",
        """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"], block=True, reason=frame["tool_args"]["text"])
""",
    )
    seen = observe(tmp_path, guard, batches=[[("echo", '{\n  "text":\r\n "no"\n}')]])  # type: ignore[list-item]
    assert seen.answer_of("t1.0") == ("no", True)


def test_a_prompt_can_be_rewritten(tmp_path: Path):
    seen = guarded(tmp_path, prompt={"replace_text": "go slowly"})
    assert model_was_told(seen)[0] == "go slowly"
    (message,) = [record for record in seen.records if isinstance(record, events.UserMessage)]
    assert message.content == (events.TextContent("go slowly"),)


def test_a_prompt_can_be_refused(tmp_path: Path):
    seen = guarded(tmp_path, prompt={"block": True, "reason": "not at night"})
    assert (seen.result.status, seen.result.exit_code, seen.result.reason) == ("blocked", 3, "not at night")
    assert seen.requests == []
    assert not list((tmp_path / "home").glob("sessions/*/*.jsonl")), "what was refused is kept nowhere"
    kinds = [type(record).__name__ for record in seen.records if not isinstance(record, events.Extension)]
    assert kinds == ["Session", "UserMessage", "Result", "Done"]


def test_a_rewritten_result_is_all_that_model_session_and_stream_get(tmp_path: Path):
    seen = guarded(tmp_path, result="redact")
    assert seen.answer_of("t1.0") == ("still [redacted]", False)
    assert "here" not in json.dumps(model_was_told(seen)[1])
    (session,) = (tmp_path / "home").glob("sessions/*/*.jsonl")
    assert '"still [redacted]"' in session.read_text()
    assert '"still here"' not in session.read_text().replace('\\"', '"').split('"role":"tool"')[1]


def test_a_result_can_be_withheld(tmp_path: Path):
    seen = guarded(tmp_path, result={"block": True, "reason": "too secret"})
    assert seen.answer_of("t1.0") == ("too secret", True)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ({"modified_result": {"content": [], "is_error": True}}, ("", True)),
        ({"modified_result": {"content": [{"type": "text", "text": "a"}]}}, ("a", False)),
        (
            {"modified_result": {"content": [{"type": "image", "mime_type": "image/png", "data": "???"}]}},
            ("extension guards/echo returned undecodable image: Only base64 data is allowed", True),
        ),
        ({"replace_text": "not for this"}, ("still here", False)),
        ({"modified_args": {"a": 1}}, ("still here", False)),
    ],
)
def test_a_guard_may_replace_content_and_error_flag_of_a_result(
    tmp_path: Path, verdict: Any, expected: tuple[str, bool]
):
    assert guarded(tmp_path, result=verdict).answer_of("t1.0") == expected


@pytest.mark.parametrize(("on_failure", "expected"), [("allow", "still here"), ("deny", "its failure means deny")])
def test_a_malformed_verdict_on_a_result_follows_on_failure(tmp_path: Path, on_failure: str, expected: str) -> None:
    seen = guarded(tmp_path, result={"modified_result": {"content": "text"}}, manifest={"on_failure": on_failure})
    assert expected in seen.answer_of("t1.0")[0]
    assert "no_verdict" in seen.events_of("guard")


def test_arguments_that_a_guard_has_rewritten_must_be_as_clear_as_those_of_the_model(tmp_path: Path) -> None:
    """The next guard may read the first of two values, and the tool the last."""
    source = """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    raw = '{"text": "harmless", "text": "harmful"}'
    print('{"type": "event_intercept_response", "id": "%s", "modified_args": %s}' % (frame["id"], raw), flush=True)
"""
    seen = observe(tmp_path, program(tmp_path, "guard", source), batches=[[ECHO]])
    told = 'rewritten by a guard: invalid args: the name "text" occurs twice in one object'
    assert seen.answer_of("t1.0") == (told, True)
