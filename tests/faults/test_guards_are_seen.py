"""A run shows the actions of its guards: a line on stderr, and a record in the event stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.notices import LINE_LENGTH, REASON_LENGTH
from tests.support.faulty_run import ECHO, Observed, observe, program
from wire import events

if TYPE_CHECKING:
    from pathlib import Path


def guard(folder: Path, event: str, answer: str, before: str = "") -> Path:
    """A guard of this event, called desk, which sends the frame with these members."""
    code = f"""
hello(intercept=[{event!r}])
send(type="ready")
for number, f in enumerate(frames()):
    {before or "pass"}
    send(type="event_intercept_response", id=f["id"], {answer})
"""
    return program(folder, "desk", code)


def told(seen: Observed, *kinds: str) -> list[tuple[str, str]]:
    return [
        (record.event, record.message)
        for record in seen.records
        if isinstance(record, events.Extension) and record.extension == "desk" and record.event in kinds
    ]


def lines(seen: Observed) -> list[str]:
    return [line for line in seen.stderr if "desk" in line or "blocked" in line]


@pytest.mark.parametrize(
    ("event", "status", "did"),
    [
        ("tool_call", "ok", "refused echo"),
        ("tool_result", "ok", "withheld the result of echo"),
        ("user_prompt", "blocked", "refused the prompt"),
        ("turn_start", "blocked", "refused the turn"),
        ("assistant_message", "blocked", "withheld a message of the model"),
    ],
)
def test_a_block_is_one_line_and_a_record(event: str, status: str, did: str, tmp_path: Path) -> None:
    seen = observe(
        tmp_path, guard(tmp_path, event, 'block=True, reason="not\\n on \\x1b[31mmy watch"'), batches=[[ECHO]]
    )
    assert seen.result.status == status
    assert told(seen, "blocked") == [("blocked", f"{did}: not on my watch")]
    assert lines(seen) == [f"zot: desk {did}: not on my watch"]


@pytest.mark.parametrize("length", [5_000, 50_000])
def test_a_long_reason_is_whole_in_the_record_or_its_cut_is_marked(length: int, tmp_path: Path) -> None:
    seen = observe(tmp_path, guard(tmp_path, "tool_call", f'block=True, reason="x" * {length}'), batches=[[ECHO]])
    ((_, message),) = told(seen, "blocked")
    (line,) = lines(seen)
    whole = f"refused echo: {'x' * length}"
    assert message == (whole if length < REASON_LENGTH else f"{whole[: REASON_LENGTH - 2]} …")
    assert line.endswith(" …")
    assert len(line) == len("zot: ") + LINE_LENGTH


@pytest.mark.parametrize(
    ("answer", "line", "kind"),
    [
        (
            "block=True, reason=f\"guard 'judge' failed: KeyError: {number}\"",
            "zot: desk refused echo: guard 'judge' failed: KeyError: 0",
            "blocked",
        ),
        (
            "block='perhaps'",
            "zot: extension desk: gave no verdict on tool_call: bad event_intercept_response frame: Expected `bool",
            "no_verdict",
        ),
        (
            "modified_args=[number]",
            "zot: extension desk: gave no verdict on tool_call: modified_args is not a JSON object; allowed",
            "no_verdict",
        ),
    ],
)
def test_a_handler_that_fails_and_nonsense_are_one_line(answer: str, line: str, kind: str, tmp_path: Path) -> None:
    calls: list[list[Any]] = [[ECHO], [ECHO], [ECHO]]
    seen = observe(tmp_path, guard(tmp_path, "tool_call", answer), batches=calls)
    assert seen.result.status == "ok"
    assert len(told(seen, kind)) == 3, "each time is a record"
    (said,) = lines(seen)
    assert said.startswith(line)


def test_a_different_reason_is_a_new_line(tmp_path: Path) -> None:
    answer = 'block=True, reason="no" if number % 2 else "never"'
    seen = observe(tmp_path, guard(tmp_path, "tool_call", answer), batches=[[ECHO], [ECHO], [ECHO]])
    assert lines(seen) == ["zot: desk refused echo: never", "zot: desk refused echo: no"]
