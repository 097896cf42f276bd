"""The results of a batch that can be scored again, and the order for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.journal.rundir_files import IN_RUNS, rundir_lines
from agent.batch.tasks.repeat import base_id
from wire.batch.link import ScoreAgain
from wire.batch.outcome import SCORED
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.shards import BatchResults
    from agent.batch.pool.run_order import Orders, RunOrder
    from wire.batch.outcome import Outcome
    from wire.batch.task import Task

RESULT = b'{"type":"result"'
FILES = "score"
"""The files of a scoring begin with this, and not with the number of an attempt; they are removed at its end."""


class ScoringError(ValueError):
    """Nothing is scored; the text says why, and what to do."""


def tasks_to_score(results: BatchResults, tasks: Mapping[str, Task], flag: str | None, ids: Sequence[str]) -> list[str]:
    """The ids of the tasks whose results are scored: those that `ids` name, or all. `flag` is the command of tasks
    without one. Raises `ScoringError`."""
    chosen = [task for task in results.done if task in tasks and results.history(task).status in SCORED]
    if ids:
        named = _named(ids, tasks, set(chosen))
        chosen = [task for task in chosen if task in named]
    if flag is None and (without := next((task for task in chosen if tasks[task].score is None), None)):
        raise ScoringError(f"task {without!r} has no score command; give one with --with")
    return chosen


def _named(ids: Iterable[str], tasks: Mapping[str, Task], scored: set[str]) -> set[str]:
    """The tasks with these ids, and the repetitions of the tasks with these ids. Raises `ScoringError`."""
    by_name: dict[str, set[str]] = {}
    for task in tasks.values():
        by_name.setdefault(base_id(task.id, task.repeat), set()).add(task.id)
        by_name[task.id] = {task.id}
    found = set[str]()
    for name in ids:
        if name not in by_name:
            raise ScoringError(no_such("task in this batch", name, sorted(by_name)))
        if not (known := by_name[name] & scored):
            raise ScoringError(f"task {name!r} has no result that can be scored; zot batch status shows how it ended")
        found |= known
    return found


def outcomes_to_score(results: BatchResults, tasks: Iterable[str], *, only_missing: bool) -> Iterator[Outcome]:
    """The results of these tasks; with `only_missing` those without a value. Raises
    `JournalError`."""
    for outcome in results.of(tasks).outcomes():
        if not only_missing or outcome.score is None or outcome.score.value is None:
            yield outcome


def score_order(orders: Orders, folder: RunFolder, task: Task, outcome: Outcome) -> RunOrder:
    """The order to score this result. Raises `FolderError`."""
    order = orders.order(task, outcome.attempt, outcome.digest)
    diff = str(folder.path / outcome.diff) if outcome.diff else ""
    again = ScoreAgain(outcome.status, whole_text(folder, outcome), diff)
    run = folder.run(task.id)
    return replace(
        order,
        begin=replace(order.begin, again=again),
        events=run / f"{FILES}.events.jsonl",
        stderr=run / f"{FILES}.stderr",
        timeout_s=None,
    )


def whole_text(folder: RunFolder, outcome: Outcome) -> str:
    """The final text, which the journal may have cut. Raises `FolderError`."""
    text = outcome.text
    if not outcome.is_cut:
        return text
    try:
        for line in rundir_lines(folder.events(outcome.id, outcome.attempt), depth=IN_RUNS):
            if line.startswith(RESULT):
                text = _result.decode(line).text
    except (OSError, msgspec.DecodeError):
        pass  # the events were removed: the part in the journal is left
    return text


class _Result(msgspec.Struct):
    text: str = ""


_result = msgspec.json.Decoder(_Result)
