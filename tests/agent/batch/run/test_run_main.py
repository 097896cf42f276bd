"""The process of a run, started as a program: whatever becomes of its task, the stream is whole, the batch knows the
outcome, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from supervisor.cleanup.env_marks import TOKEN
from tests.support.batch_run import BatchRun
from tests.support.marked_processes import marked_pids
from tests.support.replay_script import USAGE, Script, ok
from wire import events
from wire.batch.link import Abort, Cancel, ModelRequest, RunPhase
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task
from wire.exit_codes import Status

if TYPE_CHECKING:
    from tests.support.zot_process import Zot


def replayed(zot: Zot, script: Script, **fields: object) -> Task:
    return Task(id="a", prompt="go", replay=str(script.write(zot.folder / "cassette.jsonl")), **fields)  # type: ignore[arg-type]


def test_a_task_that_is_done(zot: Zot) -> None:
    with BatchRun(zot, replayed(zot, Script(zot.cwd).answer("done"))) as run:
        assert run.take(RunPhase) == RunPhase("running")
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
        assert [run.take(RunPhase).state for _ in range(4)] == ["setup", "starting", "running", "check"]
        outcome, ended = run.end()
    outcome.check(Status.OK)
    assert (ended.status, ended.reason) == (TaskStatus.CHECK_FAILED, "check: exit 3: it")
    assert ended.setup is not None
    assert ended.setup.exit_status == 0
    assert ended.check is not None
    assert ended.check.output == "it\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the score is Linux's")
def test_the_kernel_ends_runs_before_the_batch_when_memory_runs_out(zot: Zot) -> None:
    task = replayed(zot, Script(zot.cwd).answer("done"), check="cat /proc/self/oom_score_adj")
    with BatchRun(zot, task) as run:
        _, ended = run.end()
    assert ended.check is not None
    assert int(ended.check.output) == 300 > int(Path("/proc/self/oom_score_adj").read_text())


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
    with BatchRun(zot, replayed(zot, script), workspace=str(workspace)) as run:
        outcome, ended = run.end()
    outcome.check(Status.OK)
    assert (ended.status, ended.diff) == (TaskStatus.OK, "diffs/a.diff")
    assert "\n+b\n" in (zot.folder / "rundir/diffs/a.diff").read_text()
    assert (zot.cwd / "old").read_text() == "a\n"


def test_nothing_is_started_by_what_a_run_has_written_into_its_copy(zot: Zot) -> None:
    """Not even by the git that says which new files are ignored."""
    subprocess.run(["git", "init", "-q", str(zot.cwd)], check=True)
    (zot.cwd / ".gitignore").write_text("*.o\n")
    workspace = zot.folder / "rundir/workspaces/a"
    subprocess.run(["git", "-C", str(zot.cwd), "add", ".gitignore"], check=True)
    command = "touch a.o a.c; printf '[core]\\nfsmonitor = \"touch ../../ran; false\"\\n' >> .git/config"
    results = [ok(f"$ {command}\n\n[exit 0]  Took 0.0s")]
    script = Script(workspace).call(("bash", {"command": command}), results=results).answer("done")
    (zot.folder / "rundir").mkdir()
    with BatchRun(zot, replayed(zot, script), workspace=str(workspace)) as run:
        outcome, ended = run.end()
    outcome.check(Status.OK)
    patch = (zot.folder / "rundir" / ended.diff).read_text()
    assert ("a.c" in patch, "a.o" in patch) == (True, False)
    assert sorted(os.listdir(zot.folder / "rundir/workspaces")) == [".snapshots", "a"]
    assert not (zot.folder / "rundir/ran").exists()


@pytest.mark.slow
def test_a_run_is_a_host_that_its_batch_keeps(zot: Zot) -> None:
    """`zot ps` shows it with its task. It has no record and no reaper: those of the batch cover it, by its token."""
    script = Script(zot.cwd).call(("bash", {"command": "sleep 1000"}), results=[ok("")]).answer("never")
    with BatchRun(zot, replayed(zot, script)) as run:
        sleeper = run.child("sleep 1000")
        assert [path.name for path in zot.home.glob("run/*")] == [f"{run.pid}.sock"]
        assert run.find_child("reaper_main") is None
        assert sleeper in marked_pids(TOKEN, run.token)
        (shown,) = zot.run("ps", "--json").json_lines
        assert (shown["pid"], shown["task"]) == (run.pid, "a")
        assert "(task a)" in zot.run("ps").text
        run.signal(signal.SIGTERM)
        outcome, ended = run.end()
    outcome.check(Status.INTERRUPTED)
    assert ended.status is TaskStatus.INTERRUPTED


# --- a model, asked over the link ---------------------------------------------------------------------------

START = {"type": "message_start", "usage": USAGE}
FINAL = {"type": "final", "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn", "usage": USAGE}
LIVE = Task(id="a", prompt="go", provider="anthropic", base_url="http://localhost:1", model="claude-sonnet-5-5")


def test_a_request_goes_over_the_link_and_its_reply_comes_back(zot: Zot) -> None:
    with BatchRun(zot, LIVE) as run:
        asked = run.take(ModelRequest)
        run.send_line({**FINAL, "id": "6.1"})  # of another run
        for line in (START, {"type": "text_delta", "delta": "hel"}, FINAL):
            run.send_line({**line, "id": asked.id})
        outcome, ended = run.end()
    assert (asked.id, asked.model) == ("7.1", "claude-sonnet-5-5")
    assert msgspec.json.decode(asked.configure)["base_url"] == "http://localhost:1"
    assert msgspec.json.decode(asked.params)["messages"][0]["role"] == "user"
    assert outcome.check(Status.OK).result.text == "hello"
    assert ended.status is TaskStatus.OK


def test_an_error_of_the_model_gets_advice(zot: Zot) -> None:
    error = {"kind": "authentication", "status": 401, "message": "HTTP 401: no", "retry_after_s": None, "content": []}
    with BatchRun(zot, LIVE) as run:
        run.send_line({"type": "error", "id": run.take(ModelRequest).id, "fault": "", "usage": USAGE, **error})
        outcome, ended = run.end()
    outcome.check(Status.AUTHENTICATION)
    assert ended.status is TaskStatus.AUTHENTICATION
    assert "HTTP 401: no" in ended.reason


def test_a_line_that_no_worker_writes_fails_the_request(zot: Zot) -> None:
    with BatchRun(zot, LIVE) as run:
        run.send_line({"type": "text_delta", "delta": 1, "id": run.take(ModelRequest).id})
        outcome, ended = run.end()
    outcome.check(Status.ERROR)
    assert "a line from the model worker is not valid" in ended.reason


@pytest.mark.parametrize("is_lost", [False, True], ids=["told", "lost"])
def test_the_batch_ends_a_run_in_the_middle_of_a_reply(zot: Zot, is_lost: bool) -> None:
    with BatchRun(zot, LIVE) as run:
        asked = run.take(ModelRequest)
        run.send_line({**START, "id": asked.id})
        run.wait_for(events.AssistantStart)
        if is_lost:
            run.link.close()
            run.finish().check(Status.INTERRUPTED)
            return
        run.send(Abort("timeout", "too long"))
        assert run.take(Cancel).id == asked.id
        outcome, ended = run.end()
    outcome.check(Status.TIMEOUT)
    assert ended.status is TaskStatus.TIMEOUT


def test_what_is_no_line_of_a_batch_ends_the_run(zot: Zot) -> None:
    with BatchRun(zot, LIVE) as run:
        run.take(ModelRequest)
        run.link.sendall(b"{\n")
        run.finish().check(Status.INTERRUPTED)


def test_a_batch_that_is_gone_before_it_began(zot: Zot) -> None:
    with BatchRun(zot, None) as run:
        run.link.close()
        outcome = run.finish()
    assert (outcome.status, outcome.stdout) == (Status.INTERRUPTED.exit_code, b"")
    assert "the batch ended before" in outcome.stderr
