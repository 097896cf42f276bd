"""A batch from its start to its end, in this process, with real processes that stand in for agents."""

from __future__ import annotations

import json
import os
import signal
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

from agent.batch.opening import changed_tasks
from agent.batch.opening.backlog import RedoError
from agent.batch.request import RunState
from agent.batch.schedule import Halt, after_signal
from tests.support.batch_place import STANDIN, BatchPlace, tasks, when
from wire.batch import records
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.batch.batch import Batch


@pytest.fixture
def place(tmp_path: Path) -> BatchPlace:
    return BatchPlace(tmp_path)


def running(batch: Batch, count: int) -> Callable[[], bool]:
    return lambda: sum(run.state is RunState.RUNNING for run in batch.view().runs) >= count


def test_three_tasks_end_well(place: BatchPlace) -> None:
    end = place.run(tasks("say one", "say two usage 5", "ok"))
    assert (end.reason, end.exit_code, end.statuses) == ("done", 0, {"ok": 3})
    assert (end.usage.input, end.known_cost_usd, end.cost_usd) == (5, 0.01, 0.01)
    kinds = [type(record) for record in place.told]
    assert kinds[0] is records.BatchStart
    assert kinds[-1] is records.BatchEnd
    assert kinds.count(records.TaskStart) == kinds.count(records.TaskEnd) == 3
    assert ("a", 1, b'{"type":"text_delta","delta":"one"}\n') in place.events
    assert len((place.rundir / "results.jsonl").read_bytes().splitlines()) == 3
    log = (place.rundir / "batch.log").read_text()
    assert '"event": "run ended"' in log
    again = place.run(tasks("say one", "say two usage 5", "ok"))
    assert (again.reason, again.exit_code, again.statuses) == ("done", 0, {"ok": 3})
    assert not place.ends()


def test_the_spend_is_summed_once_for_all_starts_of_a_pass(place: BatchPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a sum over all runs: on many machines they are thousands."""
    batch = place.batch(tasks(*["ok"] * 8), jobs=8, run_program=STANDIN)
    spent, counts = batch._spent, list[int]()
    monkeypatch.setattr(batch, "_spent", lambda: counts.append(batch._attempts.count) or spent())  # type: ignore[func-returns-value]
    batch.run()
    assert counts[0] == 0
    assert len([count for count in counts if 0 < count < 8]) <= 2, "looks at each second"


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSEGV"])
def test_a_crash_is_recorded_and_retried_before_new_tasks(place: BatchPlace, number: str) -> None:
    once = place.folder / "once"
    end = place.run(tasks(f"once {once} leave die {number}", "ok", "ok"), jobs=1)
    assert (end.exit_code, end.statuses) == (0, {"ok": 3})
    starts = [(record.task, record.attempt) for record in place.told if isinstance(record, records.TaskStart)]
    assert starts == [("a", 1), ("a", 2), ("b", 1), ("c", 1)]
    first, second = place.ends(final=False)["a"]
    assert (first.status, second.status) == (TaskStatus.CRASHED, TaskStatus.OK)
    assert number in first.reason
    assert "about to die" in first.reason


def test_retries_end_and_what_would_not_pass_is_not_retried(place: BatchPlace) -> None:
    end = place.run(tasks("fail error", "fail blocked", "fail rate_limit", "fault error"), retries=2)
    assert (end.exit_code, end.reason) == (10, "done")
    assert end.statuses == {"error": 2, "blocked": 1, "rate_limit": 1}
    assert {task: len(found) for task, found in place.ends(final=False).items()} == {"a": 3, "b": 1, "c": 3, "d": 1}
    assert {task: len(found) for task, found in place.ends().items()} == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert {task: found[0].may_pass for task, found in place.ends().items()} == {
        "a": True, "b": False, "c": True, "d": False,
    }  # fmt: skip


def test_a_hang_ends_by_its_timeout_and_memory_by_its_limit(place: BatchPlace) -> None:
    end = place.run(tasks("hang", "eat 200"), task_timeout=1.5, run_memory=100 * 1024 * 1024)
    assert end.statuses == {"timeout": 1, "out_of_memory": 1}
    assert "100 MiB" in place.ends()["b"][0].reason


def test_budgets_stop_new_starts(place: BatchPlace) -> None:
    end = place.run(tasks("usage 100", "ok", "ok"), jobs=1, max_tokens=50)
    assert (end.reason, end.exit_code, end.statuses) == ("budget", 10, {"ok": 1, "not_run": 2})
    assert any("--max-tokens" in line for line in place.said)
    end = place.run(tasks("usage 100", "ok", "ok"), jobs=1, max_cost_usd=0.005)
    assert (end.reason, end.statuses) == ("budget", {"ok": 1, "not_run": 2})
    end = place.run(tasks("usage 100", "ok", "ok"), jobs=1)
    assert (end.reason, end.exit_code, end.statuses) == ("done", 0, {"ok": 3})


def test_a_result_stands_until_a_new_attempt_has_started(place: BatchPlace) -> None:
    place.run(tasks("fail blocked", "usage 100 fail blocked"))
    end = place.run(tasks("fail blocked", "ok", "ok"), redo=("failed",), max_tokens=50)
    assert (end.reason, end.limit, end.exit_code) == ("budget", "--max-tokens", 10)
    assert end.statuses == {"blocked": 2, "not_run": 1}
    (start,) = [record for record in place.told if isinstance(record, records.BatchStart)]
    assert (start.done, start.again) == (0, ("a", "b"))
    assert [line["id"] for line in map(json.loads, (place.rundir / "results.jsonl").read_text().splitlines())] == [
        "a",
        "b",
    ]
    end = place.run(tasks("ok", "ok"))
    assert end.statuses == {"blocked": 2}
    end = place.run(tasks("ok", "ok", "ok"), redo=("failed",))
    assert (end.exit_code, end.statuses) == (0, {"ok": 3})
    assert {task: one[0].attempt for task, one in place.ends().items()} == {"a": 2, "b": 2, "c": 1}


def test_failures_and_a_deadline_stop_new_starts(place: BatchPlace) -> None:
    end = place.run(tasks("fail blocked", "fail blocked", "ok"), jobs=1, max_failures=2)
    assert (end.reason, end.exit_code, end.statuses) == ("failures", 10, {"blocked": 2, "not_run": 1})
    end = place.run(tasks("x", "x", "ok"), jobs=1, deadline=0.000001)
    assert (end.reason, end.statuses) == ("deadline", {"blocked": 2, "not_run": 1})


def test_one_signal_drains_and_two_stop(place: BatchPlace) -> None:
    def drain(batch: Batch) -> None:
        when(batch, running(batch, 1), lambda: os.kill(os.getpid(), signal.SIGINT))

    end = place.run(tasks("once " + str(place.folder / "go"), "ok", "ok"), jobs=1, do=drain)
    assert (end.reason, end.exit_code) in [("drained", 130), ("done", 0)]

    def stop(batch: Batch) -> None:
        def signals() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            batch.loop.call_later(0, lambda: os.kill(os.getpid(), signal.SIGINT))

        when(batch, running(batch, 2), signals)

    place = BatchPlace(place.folder / "second")
    end = place.run(tasks("hang", "hang", "ok"), do=stop)
    assert (end.reason, end.exit_code, end.statuses) == ("stopped", 130, {"not_run": 3})
    assert not place.ends()
    end = place.run(tasks("ok", "ok", "ok"))
    assert (end.exit_code, end.statuses) == (0, {"ok": 3})
    assert place.ends()["a"][0].attempt == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_of_a_service_manager_or_a_closed_terminal_stops_at_once(
    place: BatchPlace, number: signal.Signals
) -> None:
    def stop(batch: Batch) -> None:
        when(batch, running(batch, 2), lambda: os.kill(os.getpid(), number))

    end = place.run(tasks("hang", "hang", "ok"), do=stop)
    assert (end.reason, end.exit_code, end.statuses) == ("stopped", 130, {"not_run": 3})
    assert [outcome.status for ends in place.ends(final=False).values() for outcome in ends] == [
        TaskStatus.INTERRUPTED,
        TaskStatus.INTERRUPTED,
    ]
    assert place.run(tasks("ok", "ok", "ok")).statuses == {"ok": 3}
    assert {task: ends[0].attempt for task, ends in place.ends().items()} == {"a": 2, "b": 2, "c": 1}


@pytest.mark.parametrize(
    "numbers", [(signal.SIGTERM,) * 2, (signal.SIGINT,) * 3], ids=["the second SIGTERM", "the third SIGINT"]
)
def test_a_deaf_run_is_killed_by_the_last_signal(place: BatchPlace, numbers: tuple[signal.Signals, ...]) -> None:
    def kill(batch: Batch) -> None:
        def signals() -> None:
            for delay, number in enumerate(numbers):
                batch.loop.call_later(0.05 * delay, lambda number=number: os.kill(os.getpid(), number))

        when(batch, running(batch, 1), signals)

    end = place.run(tasks("leave deaf", "ok"), jobs=1, do=kill)
    assert (end.reason, end.exit_code, end.statuses) == ("stopped", 130, {"not_run": 2})


def test_signals_bring_a_batch_further_to_its_end() -> None:
    ctrl_c, term = signal.SIGINT, signal.SIGTERM
    ways = {
        (ctrl_c, ctrl_c, ctrl_c, ctrl_c): [Halt.DRAIN, Halt.STOP, Halt.KILL, Halt.KILL],
        (term, term): [Halt.STOP, Halt.KILL],
        (ctrl_c, term, ctrl_c): [Halt.DRAIN, Halt.STOP, Halt.KILL],
    }
    for numbers, expected in ways.items():
        assert list(accumulate(numbers, after_signal, initial=Halt.NONE))[1:] == expected


def test_the_user_pauses_and_drains(place: BatchPlace) -> None:
    def pause(batch: Batch) -> None:
        batch.controls.is_paused = True
        batch.loop.call_later(0.2, lambda: setattr(batch.controls, "is_paused", False))
        assert batch.view().is_paused_by_user

    assert place.run(tasks("ok"), do=pause).exit_code == 0
    end = place.run(tasks("x", "ok"), do=lambda batch: setattr(batch.controls, "is_draining", True))
    assert (end.reason, end.exit_code, end.statuses) == ("drained", 10, {"ok": 1, "not_run": 1})


def test_redo_and_changed_inputs(place: BatchPlace) -> None:
    place.run(tasks("fail blocked", "ok"))
    end = place.run(tasks("ok now", "ok"))
    assert end.statuses == {"blocked": 1, "ok": 1}
    assert any("'a'" in line and "changed" in line for line in place.said)
    end = place.run(tasks("ok now", "ok"), redo=("failed",))
    assert end.statuses == {"ok": 2}
    assert place.ends()["a"][0].attempt == 2
    with pytest.raises(RedoError, match=r"--redo.*'c'"):
        place.run(tasks("ok now", "ok"), redo=("c",))


def test_changes_of_many_tasks_are_told_while_runs_are_under_way(
    place: BatchPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_tasks, "AT_ONCE", 0)
    place.run(tasks("ok", "ok"))
    end = place.run(tasks("ok now", "ok", "ok"))
    assert end.statuses == {"ok": 3}
    assert [line for line in place.said if "task 'a' changed since the result was made" in line]
    assert list(place.ends()) == ["c"]


def test_events_that_cannot_be_kept_stop_the_batch(place: BatchPlace) -> None:
    def break_it(batch: Batch) -> None:
        (place.rundir / "runs").mkdir(parents=True)
        (place.rundir / "runs" / "b").write_text("in the way")

    end = place.run(tasks("hang", "ok", "ok"), do=break_it)
    assert (end.reason, end.exit_code) == ("failed", 1)
    assert any("runs/b" in line for line in place.said)
    (place.rundir / "runs" / "b").unlink()
    end = place.run(tasks("ok", "ok", "ok"))
    assert (end.exit_code, end.statuses) == (0, {"ok": 3})


def test_a_journal_that_cannot_be_written_stops_the_batch(place: BatchPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_it(batch: Batch) -> None:
        def fail() -> None:
            with open(place.rundir / "journal.jsonl", "ab") as file:
                file.write(b"x")

        when(batch, running(batch, 2), fail)

    end = place.run(tasks("hang", "hang", "ok"), do=break_it, task_timeout=0.5)
    assert (end.reason, end.exit_code) == ("failed", 1)
    assert any("journal.jsonl" in line for line in place.said)
    assert not place.ends()
