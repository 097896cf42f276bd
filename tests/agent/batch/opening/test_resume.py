"""Attempts that were cut off with their batch process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from agent.batch.opening.backlog import RedoError, tasks_to_redo
from agent.batch.opening.resume import OVERHEAD_TOKENS, cut_off_outcome, facts_of_cut_off
from agent.batch.tasks.repeat import repeated
from tests.support.batch_journal import tasks
from wire import events
from wire.batch.outcome import TaskStatus, Usage

if TYPE_CHECKING:
    from pathlib import Path

TIME = "2026-11-22T20:00:00Z"
SESSION = events.Session(
    schema_version=1, zot_version="0", id="s", provider="anthropic", model="claude-sonnet-4-5", cwd="/", extensions=(),
    time=TIME,
)  # fmt: skip


def said(text: str) -> events.UserMessage:
    return events.UserMessage((events.TextContent(text),), TIME)


def used(*, cost_usd: float | None = 0.5, is_partial: bool = False) -> events.Usage:
    total = events.Totals(40_000, 2_000, 50_000, 8_000, cost_usd)
    return events.Usage(
        input=40_000, output=2_000, cache_read=50_000, cache_write=8_000, cost_usd=cost_usd, is_partial=is_partial,
        cumulative=total,
    )  # fmt: skip


def written(path: Path, *records: events.Record) -> Path:
    path.write_bytes(b"".join(map(events.encode, [SESSION, *records])))
    return path


def test_the_input_of_the_first_request_is_that_of_the_prompt(tmp_path: Path) -> None:
    outcome = cut_off_outcome(
        "a", 1, "", facts_of_cut_off(written(tmp_path / "events", said("x" * 400_000), events.TurnStart(1)))
    )
    assert (outcome.cost_usd, outcome.known_cost_usd) == (None, 0.0)
    assert outcome.lost is not None
    assert (outcome.lost.requests, outcome.lost.max_tokens) == (1, 32_000)
    assert outcome.lost.input_usd == pytest.approx((200_000 + OVERHEAD_TOKENS) * 3.75 / 1e6, rel=0.01)
    assert outcome.reserved_usd == pytest.approx(outcome.lost.input_usd + 32_000 * 15 / 1e6)


def test_an_attempt_that_was_cut_off_keeps_its_node(tmp_path: Path) -> None:
    facts = facts_of_cut_off(tmp_path / "none")
    assert cut_off_outcome("a", 1, "", facts, node="n1").node == "n1"
    assert cut_off_outcome("a", 1, "", facts).node is msgspec.UNSET


def test_the_input_of_a_later_request_is_what_the_last_one_has_used_and_what_came_after_it(tmp_path: Path) -> None:
    result = events.ToolResult("c", False, (events.TextContent("y" * 20_000),))
    records = said("x" * 400_000), events.TurnStart(1), used(), result, events.TurnStart(2)
    outcome = cut_off_outcome("a", 1, "", facts_of_cut_off(written(tmp_path / "events", *records)))
    assert (outcome.known_cost_usd, outcome.answers, outcome.largest_answer) == (0.5, 1, 2_000)
    assert outcome.lost is not None
    assert outcome.lost.input_usd == pytest.approx((100_000 + 10_000) * 3.75 / 1e6, rel=0.01)


def test_a_reply_that_broke_off_before_is_lost_too(tmp_path: Path) -> None:
    records = said("x"), events.TurnStart(1), used(is_partial=True), events.TurnStart(2)
    outcome = cut_off_outcome("a", 1, "", facts_of_cut_off(written(tmp_path / "events", *records)))
    assert (outcome.known_cost_usd, outcome.answers, outcome.usage) == (0.0, 0, Usage(40_000, 2_000, 50_000, 8_000))
    assert outcome.lost is not None
    assert (outcome.lost.requests, outcome.lost.received) == (2, 2_000)


def test_what_had_not_begun_has_cost_nothing(tmp_path: Path) -> None:
    outcome = cut_off_outcome("a", 1, "", facts_of_cut_off(tmp_path / "none"))
    assert (outcome.cost_usd, outcome.reserved_usd, outcome.lost) == (0.0, 0.0, None)


def ended(status: str, **fields: Any) -> events.Result:
    return events.Result(
        status=status, exit_code=1, reason="", text="", steps=1, usage=events.Totals(0, 0, 0, 0, 0.0), cost_usd=0.0,
        session="s", duration_ms=1, extensions={}, **fields,
    )  # fmt: skip


TOOL = events.ToolCall("c", "bash", {}, None)
TURN = events.TurnStart(1)


@pytest.mark.parametrize(
    ("records", "lost"),
    [
        ((TURN, used(), TOOL), 0),
        ((TURN, used(), TOOL, events.ToolResult("c", False, ()), events.TurnStart(2)), 1),
        ((TURN, used(), events.CompactStart("window", 1, 2)), 1),
        ((TURN, events.TurnEnd("aborted", "the disk is full"), ended("interrupted")), 1),
        ((TURN, used(), TOOL, events.TurnEnd("aborted", "timeout"), ended("timeout")), 0),
        ((TURN, events.TurnEnd("error", "HTTP 400"), ended("error", error_kind="invalid_request")), 0),
        ((TURN, events.TurnEnd("error", "no answer"), ended("error", error_kind="timeout")), 1),
    ],
)
def test_only_a_request_without_an_answer_is_lost(
    tmp_path: Path, records: tuple[events.Record, ...], lost: int
) -> None:
    path = written(tmp_path / "events", said("x"), *records)
    outcome = cut_off_outcome("a", 1, "", facts_of_cut_off(path))
    assert (outcome.lost.requests if outcome.lost else 0, outcome.cost_usd is None) == (lost, lost > 0)
    assert cut_off_outcome("a", 1, "", facts_of_cut_off(path, was_paused=True)).lost is None, (
        "it has waited for a rate limit"
    )


DONE = {"a": TaskStatus.OK, "b": TaskStatus.ERROR, "c": TaskStatus.CHECK_FAILED}
TASKS = [*DONE, "d"]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], ""), (["failed"], "bc"), (["all"], "abc"), (["changed"], "a"), (["b"], "b"), (["d"], ""),
        (["changed", "b"], "ab"),
    ],
)  # fmt: skip
def test_words_name_done_tasks(words: list[str], chosen: str) -> None:
    assert tasks_to_redo(words, DONE, ["a"], tasks(*TASKS)) == set(chosen)


def test_an_id_comes_before_a_word() -> None:
    done = {"failed": TaskStatus.OK, "x": TaskStatus.ERROR}
    assert tasks_to_redo(["failed"], done, [], tasks("failed", "x")) == {"failed"}


def test_a_repeated_task_names_all_its_repetitions_and_an_id_one_of_them() -> None:
    given = repeated(tasks("fix", "failed"), 3)
    done = {task.id: TaskStatus.OK for task in given if task.repeat != 3}
    assert tasks_to_redo(["fix"], done, [], given) == {"fix#1", "fix#2"}
    assert tasks_to_redo(["fix#2"], done, [], given) == {"fix#2"}
    assert tasks_to_redo(["failed"], done, [], given) == {"failed#1", "failed#2"}
    with pytest.raises(RedoError, match=r"'fix#4'; did you mean 'fix"):
        tasks_to_redo(["fix#4"], done, [], given)


def test_an_unknown_id_is_an_error() -> None:
    with pytest.raises(RedoError, match=r"--redo.*'nope'"):
        tasks_to_redo(["nope"], DONE, [], tasks(*TASKS))
