"""Guards and observers of prompts, tool results, errors and the end, in a whole run with real extensions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.tools.extension_result import within_bounds
from agent.transcript import Text
from tests.support.faulty_run import ECHO, Observed, observe, program
from wire import events

if TYPE_CHECKING:
    from collections.abc import Sequence

EVENTS = (
    '("session_start", "user_prompt", "turn_start", "tool_call", "tool_result", "turn_end", "error", "session_end")'
)
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
GUARD = """
hello(intercept=["user_prompt", "tool_result"])
send(type="ready")
for frame in frames():
    said = {}
    if frame["event"] == "user_prompt":
        said = %r
    elif frame["event"] == "tool_result":
        said = %r
        if said == "redact":
            text = frame["content"][0]["text"].replace("here", "[redacted]")
            said = {"modified_result": {"content": [{"type": "text", "text": text}]}}
    send(type="event_intercept_response", id=frame["id"], **said)
"""


def guarded(tmp_path: Path, *, prompt: Any = None, result: Any = None, **asked: Any) -> Observed:
    guard = program(tmp_path, "guard", GUARD % (prompt or {}, result or {}), **asked.pop("manifest", {}))
    return observe(tmp_path, guard, batches=[[ECHO]], **asked)


def model_was_told(seen: Observed) -> list[Any]:
    """The text of the prompt, and what came back of the tool."""
    messages = seen.requests[-1]["messages"]
    return [messages[0]["content"][0]["text"], messages[2]["content"][0]]


# --- observers ---------------------------------------------------------------------------------------------------


def test_an_observer_sees_the_whole_run_in_order(tmp_path: Path):
    log = tmp_path / "seen"
    observe(tmp_path, program(tmp_path, "observer", OBSERVER, log), batches=[[ECHO]])
    frames = [json.loads(line) for line in log.read_text().splitlines()]
    told = [frame for frame in frames if frame["type"] == "event"]
    assert [frame["event"] for frame in told] == [
        "session_start", "user_prompt", "turn_start", "tool_call", "turn_end", "tool_result", "turn_start", "turn_end",
        "session_end",
    ]  # fmt: skip
    assert frames[-1] == {"type": "shutdown"}
    assert told[1] == {"type": "event", "event": "user_prompt", "text": "go"}
    assert told[5] == {
        "type": "event",
        "event": "tool_result",
        "tool_id": "t1.0",
        "tool_name": "echo",
        "is_error": False,
        "content": [{"type": "text", "text": "still here"}],
    }


def test_an_observer_hears_of_an_error_and_then_of_the_end(tmp_path: Path):
    log = tmp_path / "seen"
    seen = observe(tmp_path, program(tmp_path, "observer", OBSERVER, log), batches=[[ECHO]] * 3, max_steps=1)
    assert seen.result.status == "max_steps"
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [frame.get("event") for frame in told[-3:]] == ["error", "session_end", None]
    assert told[-3]["error"] == "max steps (1) exceeded"


# --- prompts -----------------------------------------------------------------------------------------------------


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


# --- results -----------------------------------------------------------------------------------------------------


def test_a_result_can_be_rewritten_before_anybody_sees_it(tmp_path: Path):
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
def test_what_a_guard_may_make_of_a_result(tmp_path: Path, verdict: Any, expected: tuple[str, bool]):
    assert guarded(tmp_path, result=verdict).answer_of("t1.0") == expected


def test_what_a_guard_makes_of_a_result_is_cut_too_but_not_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    seen = guarded(tmp_path, result={"modified_result": {"content": [{"type": "text", "text": "x" * 200_000}]}})
    said, _ = seen.answer_of("t1.0")
    assert len(said) < 52_000
    assert said.count("[cut: this is the start of 200000 bytes") == 1
    again = within_bounds((Text(said),), tmp_path)
    assert again == (Text(said),)


@pytest.mark.parametrize(("on_failure", "expected"), [("allow", "still here"), ("deny", "its failure means deny")])
def test_a_guard_of_results_that_makes_no_sense(tmp_path: Path, on_failure: str, expected: str):
    seen = guarded(tmp_path, result={"modified_result": {"content": "text"}}, manifest={"on_failure": on_failure})
    assert expected in seen.answer_of("t1.0")[0]
    assert "no_verdict" in seen.events_of("guard")


# --- results that are too long, calls side by side ---------------------------------------------------------------

LONG = """
hello("long")
send(type="ready")
for frame in frames():
    result(frame, frame["args"]["text"] * frame["args"]["times"])
"""


@pytest.mark.parametrize(
    ("text", "times", "shown"),
    [("0123456789\n", 10_000, "0123456789\n" * 1000), ("x\n", 3000, "x\n" * 1900), ("é", 60_000, "é" * 25_000)],
)
def test_a_result_that_is_too_long_is_cut_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, times: int, shown: str
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    long = program(tmp_path, "long", LONG)
    seen = observe(tmp_path, long, batches=[[("long", {"text": text, "times": times})]])
    said, is_error = seen.answer_of("t1.0")
    assert not is_error
    assert said.startswith(shown)
    assert len(said.encode()) < 52_000
    start, _, pointer = said.rpartition("\n... [cut: this is the start of ")
    assert start
    kept = Path(pointer.rpartition("the whole text: ")[2].rstrip("]"))
    assert kept.read_text() == text * times
    assert kept.stat().st_mode & 0o777 == 0o600
    assert pointer.startswith(f"{len((text * times).encode())} bytes, ")


def test_a_long_result_that_cannot_be_kept_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    seen = observe(tmp_path, program(tmp_path, "long", LONG), batches=[[("long", {"text": "x" * 99, "times": 999})]])
    assert seen.answer_of("t1.0")[0].endswith("the whole could not be kept: No such file or directory]")


BARRIER = """
send(type="hello", name="barrier")
for name in ("left", "right", "alone"):
    send(type="register_tool", name=name, schema={"type": "object"}, read_only=name != "alone")
send(type="ready")
waiting = []
for frame in frames():
    waiting.append(frame)
    if len(waiting) == frame["args"]["together"]:
        for call in reversed(waiting):
            send(type="tool_progress", id=call["id"], text="nearly")
            result(call, call["name"])
        waiting = []
"""


def results(seen: Observed) -> list[tuple[str, str]]:
    return [
        (record.id, "".join(part.text for part in record.content if isinstance(part, events.TextContent)))
        for record in seen.records
        if isinstance(record, events.ToolResult)
    ]


def barrier(tmp_path: Path, *calls: tuple[str, int]) -> Observed:
    batch: Sequence[tuple[str, dict[str, Any]]] = [(name, {"together": together}) for name, together in calls]
    extension = program(tmp_path, "barrier", BARRIER, timeouts={"tool_call": 5})
    return observe(tmp_path, extension, batches=[batch])


def test_read_only_calls_side_by_side_run_at_the_same_time_and_keep_their_order(tmp_path: Path):
    """None of the first three is answered before all have been asked, and then the last one first."""
    seen = barrier(tmp_path, ("left", 3), ("right", 3), ("left", 3), ("alone", 1), ("alone", 1), ("right", 1))
    assert results(seen) == [
        ("t1.0", "left"), ("t1.1", "right"), ("t1.2", "left"), ("t1.3", "alone"), ("t1.4", "alone"), ("t1.5", "right"),
    ]  # fmt: skip
    progress = [record.id for record in seen.records if isinstance(record, events.ToolProgress)]
    assert progress == ["t1.2", "t1.1", "t1.0", "t1.3", "t1.4", "t1.5"]


def test_a_refused_call_among_read_only_ones_leaves_the_others_alone(tmp_path: Path):
    guard = program(
        tmp_path,
        "guard",
        """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"], block=frame["tool_name"] == "right", reason="no")
""",
    )
    extension = program(tmp_path, "barrier", BARRIER, timeouts={"tool_call": 5})
    batch = [(name, {"together": 2}) for name in ("left", "right", "left")]
    seen = observe(tmp_path, extension, guard, batches=[batch])
    assert results(seen) == [("t1.0", "left"), ("t1.1", "no"), ("t1.2", "left")]
