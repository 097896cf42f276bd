"""The process of a run, started as a program: whatever becomes of its task, the stream is whole, the batch knows the
outcome, and no process is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.batch_run import BatchRun
from tests.support.replay_script import Script, ok
from wire import events
from wire.batch.link import Abort, Phase
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task
from wire.exit_codes import Status

if TYPE_CHECKING:
    from tests.support.zot_process import Zot


def replayed(zot: Zot, script: Script, **fields: object) -> Task:
    return Task(id="a", prompt="go", replay=str(script.write(zot.folder / "cassette.jsonl")), **fields)  # type: ignore[arg-type]


def test_a_task_that_is_done(zot: Zot) -> None:
    with BatchRun(zot, replayed(zot, Script(zot.cwd).answer("done"))) as run:
        assert run.take(Phase) == Phase("running")
        outcome, ended = run.end()
    assert outcome.check(Status.OK).result.text == "done"
    assert (ended.status, ended.reason) == (TaskStatus.OK, "")
    assert not list(zot.home.glob("run/*"))
    assert zot.session_files() == []


def test_a_task_that_cannot_begin_has_a_result_too(zot: Zot) -> None:
    with BatchRun(zot, Task(id="a", prompt="go", replay=str(zot.folder / "missing.jsonl"))) as run:
        outcome, ended = run.end()
    assert outcome.result.status == "usage"
    assert isinstance(outcome.records[-1], events.Done)
    assert ended.status is TaskStatus.USAGE
    assert "missing.jsonl" in ended.reason == outcome.result.reason
    assert outcome.status == Status.USAGE.exit_code


def test_the_batch_ends_a_run_in_the_middle_of_a_tool_call(zot: Zot) -> None:
    script = Script(zot.cwd).call(("bash", {"command": "sleep 1000 & sleep 1000"}), results=[ok("")]).answer("never")
    with BatchRun(zot, replayed(zot, script)) as run:
        run.child("sleep 1000")
        run.send(Abort("timeout", "the task took longer than 3 s"))
        outcome, ended = run.end()
    outcome.check(Status.TIMEOUT)
    assert (ended.status, ended.reason) == (TaskStatus.TIMEOUT, "the task took longer than 3 s")


def test_a_run_ends_at_once_with_its_batch(zot: Zot) -> None:
    script = Script(zot.cwd).call(("bash", {"command": "trap '' TERM; sleep 1000"}), results=[ok("")]).answer("never")
    with BatchRun(zot, replayed(zot, script)) as run:
        run.child("sleep 1000")
        run.link.close()
        outcome = run.finish()
    outcome.check(Status.INTERRUPTED)
