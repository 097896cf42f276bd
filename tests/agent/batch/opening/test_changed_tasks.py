"""Tasks beside the results in their folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.journal.state import BatchState, TaskHistory
from agent.batch.opening import changed_tasks
from agent.batch.opening.changed_tasks import Comparison
from agent.batch.request import BatchRequest
from agent.batch.tasks.digest import Digests
from agent.options import RunRequest
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

REQUEST = BatchRequest(folder=Path("runs"), run=RunRequest())
DIGESTS = Digests(REQUEST)
HISTORIES = st.none() | st.tuples(st.sampled_from([None, TaskStatus.OK, TaskStatus.ERROR]), st.sampled_from("nso"))
"""Nothing in the journal; or the status of a result, and a digest: none, the same, another one."""


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_tasks, "AT_ONCE", 0)


def made(histories: list[tuple[TaskStatus | None, str] | None]) -> tuple[list[Task], BatchState]:
    tasks = [Task(id=f"t{number}", prompt="p", cwd="/") for number in range(len(histories))]
    state = BatchState()
    for task, history in zip(tasks, histories, strict=True):
        if history is not None:
            status, digest = history
            digests = {"n": "", "s": DIGESTS.of(task), "o": "other"}
            state.tasks[task.id] = TaskHistory(status=status, digest=digests[digest])
    return tasks, state


@given(histories=st.lists(HISTORIES, max_size=8), known=st.integers(0, 8), redo=st.sets(st.integers(0, 7)))
def test_what_is_compared_later_is_the_same(
    histories: list[tuple[TaskStatus | None, str] | None], known: int, redo: set[int]
) -> None:
    tasks, state = made(histories)
    gone = [task.id for task in tasks[known:] if task.id in state.tasks]
    tasks = tasks[:known]
    again = {f"t{number}" for number in redo}
    at_once = Comparison(tasks, state, DIGESTS, at_once=True)
    later = Comparison(tasks, state, DIGESTS, at_once=False)
    assert at_once.is_complete
    assert later.is_complete == (not later.done)
    assert (later.done, later.rest, later.gone) == (at_once.done, at_once.rest, at_once.gone)
    assert later.gone == gone
    assert not later.changed
    assert len(list(later.look_on(again))) == len(later.done)
    assert later.changed == [name for name in at_once.changed if name not in again]
    assert later.is_complete


def test_a_task_with_files_is_compared_at_once(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a")
    task = Task(id="a", prompt="p", files=(str(file),))
    state = BatchState()
    state.tasks["a"] = TaskHistory(status=TaskStatus.OK, digest=Digests(REQUEST).of(task))
    file.write_text("another")
    found = Comparison([task], state, Digests(REQUEST), at_once=False)
    assert found.is_complete
    assert found.changed == ["a"]
