"""Batches on node programs are changed by ctl while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.batch_place import tasks, when
from tests.support.node_place import NodePlace, begun, change, running, stop
from wire.batch import control

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.batch import Batch


@pytest.fixture
def place(tmp_path: Path) -> NodePlace:
    return NodePlace(tmp_path)


def test_the_number_of_runs_follows_ctl(place: NodePlace) -> None:
    most = [0]

    def do(batch: Batch) -> None:
        def watch() -> None:
            most[0] = max(most[0], len(batch.view().runs))
            batch.loop.call_later(0.001, watch)

        batch.loop.call_later(0.0, watch)
        when(batch, running(batch, 2), lambda: change(batch, control.SetJobs("1", 5)))
        when(batch, running(batch, 5), lambda: stop(batch))

    place.run(tasks(*["hang"] * 8), nodes=2, each=1, do=do)
    assert most == [5]


def test_a_chosen_number_stays_when_a_node_joins(place: NodePlace) -> None:
    jobs: list[int] = []

    def do(batch: Batch) -> None:
        def joined() -> None:
            jobs.append(batch.view().jobs)
            stop(batch)

        def act() -> None:
            change(batch, control.SetJobs("1", 1))
            place.carrier.add_node()

        when(batch, running(batch, 2), act)
        when(batch, lambda: any("has joined" in line for line in place.said), joined)

    place.run(tasks(*["hang"] * 4), nodes=1, do=do)
    assert jobs == [1]


def test_a_pause_aborts_runs_and_resume_goes_on(place: NodePlace) -> None:
    def do(batch: Batch) -> None:
        when(batch, begun(place, "a", "b"), lambda: change(batch, control.Pause("1", now=True)))
        aborted = lambda: len(place.ends(final=False)) == 2 and not batch.view().runs  # noqa: E731
        when(batch, aborted, lambda: change(batch, control.Resume("2")))

    end = place.run(tasks(*[f"once {place.folder / name} hang" for name in "ab"]), do=do)
    assert end.statuses == {"ok": 2}
    assert {task: [one.status.value for one in found] for task, found in place.ends(final=False).items()} == {
        "a": ["interrupted", "ok"], "b": ["interrupted", "ok"],
    }  # fmt: skip


def test_a_running_task_is_requeued(place: NodePlace) -> None:
    def do(batch: Batch) -> None:
        when(batch, begun(place, "a"), lambda: change(batch, control.Requeue("1", "a", now=True)))

    end = place.run(tasks(f"once {place.folder / 'a'} hang"), do=do)
    assert (end.statuses, place.ends()["a"][0].attempt) == ({"ok": 1}, 2)


def test_a_budget_that_is_lowered_forbids_starts(place: NodePlace) -> None:
    def do(batch: Batch) -> None:
        when(batch, running(batch, 1), lambda: change(batch, control.SetBudget("1", 0.001)))

    end = place.run(tasks("usage 5 wait", "ok"), jobs=1, task_timeout=1.0, do=do)
    assert (end.reason, end.limit, end.statuses) == ("budget", "--max-cost-usd", {"timeout": 1, "not_run": 1})


def test_stop_interrupts_all_runs(place: NodePlace) -> None:
    def do(batch: Batch) -> None:
        when(batch, running(batch, 3), lambda: change(batch, control.Stop("1")))

    end = place.run(tasks(*["hang"] * 5), do=do)
    assert (end.reason, end.exit_code, end.statuses) == ("stopped", 130, {"not_run": 5})
