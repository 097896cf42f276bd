"""The folder of a batch is read as it is: ended, running, killed, torn, or without some of its files."""

from __future__ import annotations

import msgspec
import pytest

from cli.report.batch.figures import BatchPhase, OpenTaskState
from cli.report.batch.journal_reader import outcome_at, read_batch
from cli.report.batch.tables import extensions
from cli.report.input.recorded_run import InputError
from tests.support.batch_written import T0
from wire.batch.outcome import TaskStatus, Usage
from wire.events import Cost, HostedShare

COST = Cost("exited", 250, 9 << 20, 1, 1, 1, 1, 1, 3, 1, 0, 2, 1, 1, 0, 1.5, 2.5, 1, "exit 0", 1, 1)


def read(written, now=T0):
    return read_batch([written.folder], now)


def states(figures):
    return {task.id: task.state for task in figures.tasks}


def test_each_task_has_its_state_and_all_attempts_are_paid_for(batch):
    written = batch("a", "b", "c")
    written.open(jobs=2)
    written.run("a", usage=Usage(10, 5, 2, 1), memory_peak_bytes=7, model="m")
    written.run("b", TaskStatus.CRASHED, final=False, cost_usd=None, reason="killed by SIGSEGV")
    written.run("b", attempt=2)
    written.close("budget")
    figures = read(written)
    assert states(figures) == {"a": TaskStatus.OK, "b": TaskStatus.OK, "c": OpenTaskState.NOT_RUN}
    assert (figures.phase, figures.closed, figures.jobs, figures.attempts) == (BatchPhase.ENDED, "budget", 2, 3)
    assert (figures.known_cost_usd, figures.unknown_costs, figures.cost_usd) == (1.0, 1, None)
    assert figures.usage == Usage(10, 5, 2, 1)
    a, b, _ = figures.tasks
    assert (a.cost_usd, a.tokens, a.told.memory_peak_bytes) == (0.5, 18, 7)
    assert b.cost_usd is None
    assert [(one.number, one.status, one.is_final) for one in b.attempts] == [
        (1, TaskStatus.CRASHED, False),
        (2, TaskStatus.OK, True),
    ]
    assert figures.models == ["m"]
    assert outcome_at(written.folder.journal, a.told.offset).memory_peak_bytes == 7


def test_extensions_are_summed_over_all_attempts(batch):
    written = batch("a", "b")
    written.open()
    written.run("a", extensions={"guard": COST})
    written.run("b", extensions={"guard": COST, "lint": COST})
    written.close()
    guard, lint = read(written).extensions
    assert (guard.name, guard.runs, guard.calls, guard.errors, guard.cpu_s) == ("guard", 2, 6, 2, 0.5)
    assert (guard.rss_peak_bytes, guard.restarts, guard.lost, guard.p99_ms) == (9 << 20, 2, 4, 2.5)
    assert (lint.name, lint.runs) == ("lint", 1)


def test_a_result_that_was_reopened_counts_until_a_new_attempt_has_started(batch):
    written = batch("a")
    written.open()
    written.run("a", TaskStatus.TIMEOUT)
    written.journal.reopened("a")
    written.journal.sync()
    (task,) = read(written).tasks
    assert (task.state, task.has_failed) == (TaskStatus.TIMEOUT, True)
    written.start("a", 2)
    written.kill()
    (task,) = read(written).tasks
    assert (task.state, task.final, task.has_failed) == (OpenTaskState.INTERRUPTED, None, False)
    written.open()
    written.run("a", attempt=2)
    written.close()
    (task,) = read(written).tasks
    assert task.state is TaskStatus.OK
    assert [one.is_final for one in task.attempts] == [False, True]


def test_running_and_killed_are_told_apart(batch):
    written = batch("a", "b")
    written.open()
    written.start("a")
    figures = read(written, T0 + 30)
    assert (figures.phase, figures.workload.end) == (BatchPhase.RUNNING, 30)
    assert states(figures) == {"a": OpenTaskState.RUNNING, "b": OpenTaskState.NOT_RUN}
    assert figures.tasks[0].latest == 1
    written.kill()
    figures = read(written, T0 + 30)
    assert (figures.phase, figures.workload.end) == (BatchPhase.KILLED, 0)
    assert states(figures) == {"a": OpenTaskState.INTERRUPTED, "b": OpenTaskState.NOT_RUN}


@pytest.mark.parametrize("cut", [1, 12, 100])
def test_a_torn_end_is_left_out_and_said(batch, cut):
    written = batch("a", "b")
    written.open()
    written.run("a")
    written.run("b")
    written.kill()
    whole = written.folder.journal.read_bytes()
    written.folder.journal.write_bytes(whole[:-cut])
    figures = read(written)
    assert states(figures) == {"a": TaskStatus.OK, "b": OpenTaskState.INTERRUPTED}
    (note,) = figures.notes
    assert "torn end" in note
    assert "from line 5 on" in note


def test_while_it_runs_a_line_that_is_half_written_is_no_fault(batch):
    written = batch("a")
    written.open()
    written.run("a")
    with open(written.folder.journal, "ab") as file:
        file.write(b'{"state":"finis')
    figures = read(written)
    assert (figures.phase, figures.notes) == (BatchPhase.RUNNING, [])
    written.kill()


def test_damage_in_the_middle_is_refused_with_its_line(batch):
    written = batch("a", "b")
    written.open()
    written.run("a")
    written.run("b")
    written.close()
    lines = written.folder.journal.read_bytes().split(b"\n")
    lines[1] = b"x" + lines[1][1:]
    written.folder.journal.write_bytes(b"\n".join(lines))
    with pytest.raises(InputError, match=r"journal.jsonl, line 2 is damaged"):
        read(written)


def test_missing_files_are_no_end(batch):
    written = batch("a")
    assert read(written).phase is BatchPhase.NOT_BEGUN
    written.open()
    written.run("a")
    written.close()
    written.folder.tasks_file.unlink()
    written.folder.batch_file.unlink()
    figures = read(written)
    assert states(figures) == {"a": TaskStatus.OK}
    assert "tasks.jsonl: cannot be read" in figures.notes[0]


def test_a_task_that_the_tasks_file_has_no_more_is_shown(batch):
    written = batch("a")
    written.open()
    written.run("gone")
    written.close()
    figures = read(written)
    assert [(task.id, task.is_listed) for task in figures.tasks] == [("a", True), ("gone", False)]


def test_states_are_in_the_order_of_the_page(batch):
    written = batch("a", "b", "c", "d")
    written.open()
    written.run("a", TaskStatus.TIMEOUT)
    written.run("b", TaskStatus.TIMEOUT)
    written.run("c")
    written.close()
    assert list(read(written).states().items()) == [("ok", 1), ("timeout", 2), ("not_run", 1)]


def test_numbers_that_cannot_be_are_not_computed_with(batch):
    written = batch("a")
    written.open()
    written.run("a", duration_ms=10**400, usage=Usage(10**400), memory_peak_bytes=10**400, extensions={"x": COST})
    written.close()
    figures = read(written)
    assert figures.tasks[0].told.duration_s == 1e12
    assert (figures.usage, figures.tasks[0].tokens) == (Usage(), 0)
    assert outcome_at(written.folder.journal, figures.tasks[0].told.offset) is None


def test_shares_of_a_host_are_summed_and_its_memory_is_told_once(batch):
    written = batch("a", "b", "c")
    written.open()
    for task, share_ms in (("a", 1500.0), ("b", 500.0), ("c", None)):
        share = HostedShare(4711, "shared", share_ms, share_ms, None if share_ms is None else 40 << 20)
        written.run(task, extensions={"web": msgspec.structs.replace(COST, cpu_ms=0, hosted=share), "own": COST})
    written.close()
    figures = read(written)
    web = next(use for use in figures.extensions if use.name == "web")
    assert (web.runs, web.hosted_runs, web.calls, web.cpu_s, web.cpu_share_s) == (3, 3, 9, 0.0, 2.0)
    assert web.host_rss_bytes == {("", 4711): 40 << 20}
    page = extensions(figures)
    said = "Processes of host 4711 had ~2 s of CPU for these runs, by their busy time; their memory, 40 MiB at most"
    assert said in page
    assert "3 runs of a host" in page
    assert page.count("40 MiB") == 2


def test_a_share_that_cannot_be_computed_with_is_left_out(batch):
    written = batch("a")
    written.open()
    share = HostedShare(4711, "shared", 1.0, 1e300, 1)
    written.run("a", extensions={"web": msgspec.structs.replace(COST, hosted=share)})
    written.close()
    assert read(written).extensions == []


def test_waits_for_starts_have_a_column_only_if_there_were_any(batch):
    written = batch("a", "b")
    written.open()
    written.run("a", extensions={"lazy": msgspec.structs.replace(COST, start_waits=1, start_wait_s=1.2)})
    written.run("b", extensions={"lazy": msgspec.structs.replace(COST, start_waits=1, start_wait_s=0.8)})
    written.close()
    figures = read(written)
    assert figures.extensions[0].start_wait_s == 2.0
    assert ">waited</th>" in extensions(figures)
    figures.extensions[0].start_wait_s = 0.0
    assert ">waited</th>" not in extensions(figures)
