"""How observers hear of the end of each call of the model, with real tools and real extensions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faulty_run import ECHO, Call, Observed, observe, program, short
from wire import events

if TYPE_CHECKING:
    from pathlib import Path

OBSERVER = """
hello(events=["tool_call", "permission_decision", "tool_result", "turn_end"], intercept=["tool_call"])
send(type="ready")
with open(sys.argv[1], "w") as log:
    for frame in frames():
        if frame["type"] == "event":
            print(json.dumps(frame), file=log, flush=True)
        else:
            args = frame["tool_args"]
            send(type="event_intercept_response", id=frame["id"], **args.pop("verdict", {}))
"""
SLOW = """
hello("slow")
send(type="register_tool", name="strict", schema={"type": "object", "required": ["a"]})
send(type="ready")
for frame in frames():
    send(type="tool_progress", id=frame["id"], text="half")
"""


def heard(place: Path, calls: list[Any], *, slow_s: float = 0.8, **asked: Any) -> tuple[Observed, list[dict[str, Any]]]:
    """A run in which the model makes these calls in one turn, and the events of an observer that also guards."""
    log = place / "heard"
    slow = program(place, "slow", SLOW, timeouts={**short(), "tool_call": slow_s})
    observer = program(place, "observer", OBSERVER, log)
    seen = observe(place, slow, observer, batches=[calls], **asked)
    return seen, [json.loads(line) for line in log.read_text().splitlines()]


def ends(told: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """By call: its status, whether it has begun, and the decisions about it."""
    found: dict[str, tuple[Any, ...]] = {}
    for frame in told:
        if frame["event"] == "tool_result":
            decisions = [each for each in told if each["event"] == "permission_decision"]
            found[frame["tool_id"]] = (
                frame["status"],
                frame["executed"],
                *(
                    (each["decision"], each["source"], each["stage"], each.get("reason"))
                    for each in decisions
                    if each["tool_id"] == frame["tool_id"]
                ),
            )
    return found


YOLO = ("approved", "yolo", "pre_execution", None)
BLOCK = {"verdict": {"block": True, "reason": "not that"}}
TABLE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "completed": (ECHO, ("completed", True, YOLO)),
    "a command that fails": (("bash", {"command": "exit 3"}), ("failed", True, YOLO)),
    "a command that takes too long": (("bash", {"command": "sleep 600", "timeout": 1}), ("timed_out", True, YOLO)),
    "a file that is missing": (("read", {"path": "nowhere"}), ("failed", True, YOLO)),
    "an extension that takes too long": (("slow", {}), ("timed_out", True, YOLO)),
    "an unknown tool": (("no_such", {}), ("failed", False)),
    "no JSON": (("echo", '{"text"'), ("failed", False)),
    "arguments that do not fit": (("strict", {"b": 1}), ("failed", False, YOLO)),
    "a refusal by a guard": (
        ("echo", {"text": "a", **BLOCK}),
        ("blocked", False, ("denied", "policy", "pre_execution", "not that")),
    ),
    "a question that nobody can answer": (
        ("echo", {"text": "a", "verdict": {"ask": True, "reason": "sure?"}}),
        (
            "blocked",
            False,
            (
                "denied", "policy", "pre_execution",
                "sure? (guard observer wants a person to decide, and no user can be asked here)",
            ),
        ),
    ),
}  # fmt: skip


def test_every_call_of_the_model_ends_with_one_result(tmp_path: Path) -> None:
    seen, told = heard(tmp_path, [call for call, _ in TABLE.values()])
    assert seen.result.status == "ok"
    assert dict(zip(TABLE, ends(told).values(), strict=True)) == {name: end for name, (_, end) in TABLE.items()}
    results = [frame for frame in told if frame["event"] == "tool_result"]
    assert [frame["tool_id"] for frame in results] == [f"t1.{number}" for number in range(len(TABLE))]
    raw = results[list(TABLE).index("no JSON")]
    assert (raw["tool_args_raw"], "tool_args" in raw) == ('{"text"', False)
    assert all(frame["result"]["content"] == frame["content"] for frame in results)
    assert told[len(TABLE)]["event"] == "turn_end", "each call is announced first, then the turn ends"


def test_a_rewritten_call_has_the_arguments_that_ran_and_is_approved(tmp_path: Path) -> None:
    rewritten = {"text": "b", "verdict": {"modified_args": {"text": "c"}}}
    _, told = heard(tmp_path, [("echo", rewritten)])
    proposed, _, decision, result = told[:4]
    assert (proposed["tool_args"], result["tool_args"]) == (rewritten, {"text": "c"})
    assert (decision["decision"], result["content"][0]["text"]) == ("approved", "c")


def test_an_event_that_asked_for_a_person_and_may_pass_is_approved_by_a_rule(tmp_path: Path) -> None:
    _, told = heard(tmp_path, [("echo", {"text": "a", "verdict": {"ask": True}})], allow_asked=True)
    assert ends(told) == {"t1.0": ("completed", True, ("approved", "policy", "pre_execution", None))}


CALLS: list[Call] = [("bash", {"command": "echo up; sleep 600"}), ECHO, ("no_such", {})]


@pytest.mark.parametrize("calls", [CALLS, [("slow", {}), *CALLS[1:]]])
def test_calls_that_an_abort_leaves_end_as_cancelled(tmp_path: Path, calls: list[Any]) -> None:
    """The first one runs, and the others wait."""
    seen, told = heard(tmp_path, calls, slow_s=60.0, interrupt_at=events.ToolProgress)
    assert seen.result.status == "interrupted"
    cancelled = ("cancelled", "policy", "pre_execution", "enough")
    assert ends(told) == {
        "t1.0": ("cancelled", True, YOLO),
        "t1.1": ("cancelled", False, cancelled),
        "t1.2": ("cancelled", False, cancelled),
    }
    assert [each.id for each in seen.records if isinstance(each, events.ToolResult)] == ["t1.0", "t1.1", "t1.2"]


def test_half_a_character_in_arguments_and_results_reaches_observers_as_a_mark(tmp_path: Path) -> None:
    code = """
hello("odd")
send(type="ready")
for frame in frames():
    print('{"type":"tool_result","id":"%s","content":[{"type":"text","text":"a\\\\ud800"}]}' % frame["id"], flush=True)
"""
    calls = [("odd", {}), ("odd", '{"b": "\\ud800"}')]
    observer = program(tmp_path, "observer", OBSERVER, tmp_path / "heard")
    seen = observe(tmp_path, program(tmp_path, "odd", code), observer, batches=[calls])
    assert seen.result.status == "ok"
    told = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    first, second = (frame for frame in told if frame["event"] == "tool_result")
    assert first["result"]["content"] == first["content"] == [{"type": "text", "text": "a\ufffd"}]
    assert (second["tool_args_raw"], second["status"]) == ('{"b": "\\ud800"}', "failed"), "no reader takes it as JSON"
