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


def test_setup_and_check_run_before_and_after_the_prompt(zot: Zot) -> None:
    commands = {"setup": "echo $NAME > made; sleep 1000 &", "check": "cat made; exit 3"}
    task = replayed(zot, Script(zot.cwd).answer("done"), env={"NAME": "it"}, **commands)
    with BatchRun(zot, task) as run:
        assert [run.take(Phase).state for _ in range(4)] == ["setup", "starting", "running", "check"]
        outcome, ended = run.end()
    outcome.check(Status.OK)
    assert (ended.status, ended.reason) == (TaskStatus.CHECK_FAILED, "check: exit 3: it")
    assert ended.setup is not None and ended.setup.exit_status == 0
    assert ended.check is not None and ended.check.output == "it\n"


def test_a_setup_that_fails_ends_the_task(zot: Zot) -> None:
    with BatchRun(zot, replayed(zot, Script(zot.cwd).answer("never"), setup="echo no >&2; exit 2")) as run:
        outcome, ended = run.end()
    assert (ended.status, ended.reason) == (TaskStatus.SETUP_FAILED, "setup: exit 2: no")
    assert [type(record) for record in outcome.records] == [events.Error, events.Result, events.Done]
    assert (outcome.result.status, outcome.status) == ("error", 1)


def test_the_batch_ends_a_run_in_its_setup(zot: Zot) -> None:
    with BatchRun(zot, replayed(zot, Script(zot.cwd).answer("never"), setup="sleep 1000")) as run:
        run.child("sleep 1000")
        run.send(Abort("interrupted", "stopped"))
        outcome, ended = run.end()
    assert (ended.status, ended.reason, outcome.result.status) == (TaskStatus.INTERRUPTED, "stopped", "interrupted")


def test_a_run_in_its_own_copy(zot: Zot) -> None:
    (zot.cwd / "old").write_text("a\n")
    workspace = zot.folder / "rundir/workspaces/a"
    command = ("bash", {"command": "echo b >> old"})
    script = Script(workspace).call(command, results=[ok("$ echo b >> old\n\n[exit 0]  Took 0.0s")]).answer("done")
    (zot.folder / "rundir").mkdir()
    with BatchRun(zot, replayed(zot, script), workspace=str(workspace), diff="") as run:
        outcome, ended = run.end()
    outcome.check(Status.OK)
    assert (ended.status, ended.diff) == (TaskStatus.OK, "diffs/a.diff")
    assert "\n+b\n" in (zot.folder / "rundir/diffs/a.diff").read_text()
    assert (zot.cwd / "old").read_text() == "a\n"
