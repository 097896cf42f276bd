"""Faults of the folder of a batch, before it begins, while it runs, and between its starts."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.mounts import within, without_privileges
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Outcome, Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
WAIT = "bash while [ ! -e go ]; do sleep 0.02; done"
IDS = ("a", "b", "c", "d")
ONCE = dict.fromkeys(IDS, 1)


class Replayed(BatchCommand):
    """Four tasks that need no model."""

    def __init__(self, zot: Zot) -> None:
        super().__init__(zot)
        self._model = ["--replay", str(Script(zot.cwd, "go").answer("Done.").write(zot.folder / "cassette.jsonl"))]
        self.tasks(dict.fromkeys(IDS, "go"))

    @property
    def journal(self) -> Path:
        return self.rundir / "journal.jsonl"

    def done(self) -> Replayed:
        assert self.run("-q").status == 0
        return self


@pytest.fixture
def batch(zot: Zot) -> Replayed:
    return Replayed(zot)


def _events(batch: BatchCommand) -> bytes:
    path = batch.rundir / "runs/a/1.events.jsonl"
    return path.read_bytes() if path.exists() else b""


def refused(found: Outcome, batch: BatchCommand) -> str:
    """Returns the message. Nothing was done."""
    assert (found.status, found.stdout, found.leftovers) == (Status.ERROR.exit_code, b"", []), found
    (line,) = found.stderr.splitlines()
    assert "Traceback" not in line
    assert "Errno" not in line
    return line.replace(str(batch.rundir), "RUNDIR")


# --- between two starts ------------------------------------------------------------------------------------------


def test_a_line_that_is_damaged_in_the_middle_is_refused_with_its_number(batch: Replayed) -> None:
    lines = batch.done().journal.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:4], lines[4][:20] + b"x" + lines[4][20:], *lines[5:]])
    batch.journal.write_bytes(damaged)
    for command in (["retry"], ["results"], ["status"]):
        found = batch.zot.run("batch", *command, "runs")
        assert found.status == Status.ERROR.exit_code
        assert "journal.jsonl, line 5 is damaged" in found.stderr
    said = refused(batch.run(), batch)
    assert "head -n 4 journal.damaged > journal.jsonl" in said
    assert batch.journal.read_bytes() == damaged


@pytest.mark.parametrize("lose", ["remove", "empty"])
def test_a_journal_that_was_lost_pays_for_nothing_twice(batch: Replayed, lose: str) -> None:
    batch.done()
    if lose == "remove":
        batch.journal.unlink()
    else:
        batch.journal.write_bytes(b"")
    kept = batch.events("a")
    said = refused(batch.run(), batch)
    assert said.startswith(
        "zot batch: RUNDIR/journal.jsonl: has no runs, but RUNDIR/runs has some: the journal was lost"
    )
    assert batch.events("a") == kept


@pytest.mark.slow
def test_tasks_that_changed_are_said_and_run_again_when_asked(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    given = zot.cwd / "given.txt"
    given.write_text("one")
    with_file = {"prompt": "y", "files": ["given.txt"]}
    batch.tasks({"same": "x", "prompt": "x", "file": with_file, "gone": "x"})
    assert batch.run("-q").status == 0
    before = batch.results()
    given.write_text("two")
    batch.tasks({"same": "x", "prompt": "another", "file": with_file, "new": "x"})
    found = batch.run()
    assert found.status == 0
    assert "tasks 'prompt', 'file' changed since the result was made, which stays" in found.stderr
    assert "task 'gone' in the folder, but not among the tasks of this start: left as they are" in found.stderr
    after = batch.results()
    assert set(after) == {"same", "prompt", "file", "gone", "new"}
    assert all(after[task] == before[task] for task in before)
    found = batch.run("-q", "--redo", "changed")
    redone = batch.results()
    assert {task for task in redone if redone[task] != after[task]} == {"prompt", "file"}
    assert redone["prompt"]["text"] == "answer to another"
    assert [one.task for one in batch.started()].count("same") == 1


# --- what cannot be written --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_that_is_read_only_is_refused(batch: Replayed) -> None:
    command = without_privileges(batch.zot.command)
    batch.rundir.mkdir(mode=0o500)
    assert refused(batch.run(command=command), batch).endswith(
        "journal.jsonl: cannot be opened for writing: Permission denied"
    )
    batch.rundir.chmod(0o700)
    batch.journal.touch()
    batch.rundir.chmod(0o500)
    said = refused(batch.run(command=command), batch)
    assert said == "zot batch: RUNDIR/.tasks.jsonl.new: cannot be written: Permission denied"
    batch.rundir.chmod(0o700)


@pytest.mark.slow
def test_a_full_folder_stops_the_batch_which_goes_on_with_more_room(zot: Zot, server: MessagesServer) -> None:
    """On a disk of 200 kB: each run writes more than 30 kB of events."""
    batch = BatchCommand(zot, server)
    ids = [f"t{number}" for number in range(10)]
    batch.tasks(dict.fromkeys(ids, "bash head -c 15000 /dev/zero | tr '\\0' x"))
    script = '"$@"; echo "first: $?" >&2; mount -o remount,size=50m runs; "$@"; s=$?; cp -r runs kept; exit $s'
    *mounted, program = within(batch.rundir, "size=200k", ["PROGRAM"])
    assert program == "PROGRAM"
    found = batch.run("-j", "4", "-q", command=[*mounted, "/bin/sh", "-c", script, "sh", *zot.command])
    assert found.status == 0, found.stderr
    first, status, *_ = found.stderr.splitlines()
    assert "No space left on device" in first
    assert "all runs are stopped: make room, then start the batch again to resume" in first
    assert status == "first: 1"
    batch.rundir = zot.cwd / "kept"
    assert batch.finals() == dict.fromkeys(ids, 1)
    assert {one["status"] for one in batch.results().values()} == {"ok"}


@pytest.mark.slow
def test_a_file_that_may_not_grow_stops_the_batch_which_goes_on_without_the_limit(batch: Replayed) -> None:
    ids = [f"t{number}" for number in range(30)]
    batch.tasks(dict.fromkeys(ids, "go"))
    found = batch.run("-j", "4", "-q", command=batch.zot.with_file_limit(16))
    assert found.status == Status.ERROR.exit_code
    assert "journal.jsonl: cannot be written: File too large" in found.stderr
    told = batch.finals()
    assert 0 < sum(told.values()) < 30
    assert batch.run("-q").status == 0
    assert batch.finals() == dict.fromkeys(ids, 1)
    attempts = {line.task: line.attempt for line in batch.started()}
    assert {attempts[task] for task in told} == {1}, "what was done stays"


def test_a_folder_that_is_removed_stops_the_batch(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": WAIT, "b": "x", "c": "x"})
    with batch.start("-j", "1", "-q") as running:
        wait_until(lambda: b'"tool_call"' in _events(batch))
        shutil.rmtree(batch.rundir)
        (zot.cwd / "go").touch()
        found = running.finish()
    assert "the file was removed or replaced" in refused(found, batch)
    assert not batch.rundir.exists()


def test_a_second_batch_on_one_folder_is_refused_and_the_first_goes_on(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": WAIT, "b": "x"})
    with batch.start("-q") as running:
        wait_until(batch.started)
        for again in (batch.run("--redo", "all"), zot.run("batch", "retry", "runs")):
            assert f"RUNDIR: process {running.pid} runs this batch; wait until it ends" in refused(again, batch)
        (zot.cwd / "go").touch()
        found = running.finish()
    assert (found.status, found.stderr, found.leftovers) == (0, "", [])
    assert batch.finals() == {"a": 1, "b": 1}


@pytest.mark.slow
def test_few_open_files_mean_few_runs_at_the_same_time(batch: Replayed) -> None:
    limited = ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *batch.zot.command]
    found = batch.run("-j", "32", command=limited)
    assert found.status == 0, found.stderr
    assert "zot batch: 32 jobs need more open files: 2 at the same time; raise ulimit -n" in found.stderr
    assert batch.finals() == ONCE


# --- signals and readers ------------------------------------------------------------------------------------------


def test_a_batch_whose_terminal_was_closed_goes_on(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": WAIT, "b": "x"})
    with batch.start("-j", "1") as running:
        wait_until(lambda: b'"tool_call"' in _events(batch))
        running.signal(signal.SIGHUP)
        found = running.finish()
    assert (found.status, found.leftovers) == (Status.INTERRUPTED.exit_code, [])
    assert "SIGHUP: 1 running task is stopped" in found.stderr
    (zot.cwd / "go").touch()
    assert batch.run("-q").status == 0
    assert [attempt.status.value for attempt in batch.attempts("a")] == ["interrupted", "ok"]
    assert batch.finals() == {"a": 1, "b": 1}


def test_without_a_reader_running_tasks_end_and_no_new_ones_start(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": WAIT, "b": "x"})
    with batch.start("-j", "1", "--json", "-q") as running:
        wait_until(lambda: b'"tool_call"' in _events(batch))
        assert running.process.stdout is not None
        running.process.stdout.close()
        (zot.cwd / "go").touch()
        found = running.finish()
    assert found.status == Status.PARTIAL_BATCH.exit_code
    assert "the reader of stdout has gone: running tasks end, and no new ones start" in found.stderr
    assert batch.finals() == {"a": 1}
    assert batch.run("-q").status == 0
    assert batch.finals() == {"a": 1, "b": 1}


@pytest.mark.slow
def test_without_room_for_copies_no_task_counts_as_failed(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    (zot.cwd / "large").write_bytes(b"x" * 3_000_000)
    batch.tasks(dict.fromkeys(IDS, "x"))
    keep = ["/bin/sh", "-c", '"$@"; s=$?; cp -r runs kept; exit $s', "sh", *zot.command]
    command = within(batch.rundir, "size=8m", keep)
    found = batch.run("-j", "2", "--workspace", "copy", command=command)
    assert found.status == Status.PARTIAL_BATCH.exit_code
    assert found.stderr.count("no new tasks start; make room, then start the batch again to resume") == 1
    assert "4 not run" in found.stderr
    shutil.copytree(zot.cwd / "kept", batch.rundir, dirs_exist_ok=True)
    assert batch.finals() == {}
    assert batch.run("-q", "--workspace", "copy").status == 0
    assert batch.finals() == ONCE


@pytest.mark.slow
def test_all_that_a_batch_makes_is_for_its_user_alone(zot: Zot, batch: Replayed) -> None:
    before = os.umask(0)
    try:
        found = batch.run("-q", "--workspace", "copy")
        assert (found.status, zot.run("report", "runs").status) == (0, 0)
    finally:
        os.umask(before)
    made = [batch.rundir, *batch.rundir.rglob("*")]
    ours = [path for path in made if "workspaces" not in path.parent.parts]
    assert {"journal.jsonl", "batch.log", "1.stderr", "workspaces", "report.html", "a.html"} <= {
        one.name for one in ours
    }
    open_to_others = {str(path) for path in ours if path.stat().st_mode & 0o077}
    assert open_to_others == set()


@pytest.mark.slow
def test_the_password_of_an_address_is_not_kept_and_asked_for_again(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    host = server.base_url.partition("://")[2]
    address = f"http://me:pass-word@{host}"
    batch._model[0] = f"--base-url={address}"
    batch.tasks({"a": "x", "b": "y"})
    found = batch.run("-q", "--max-failures", "1")
    assert found.status == 0, found.stderr
    assert json.loads((batch.rundir / "batch.json").read_bytes())["settings"]["flags"]["run"]["base_url"] == (
        f"http://***@{host}"
    )
    assert not [path for path in batch.rundir.rglob("*") if path.is_file() and b"pass-word" in path.read_bytes()]
    batch.tasks({"a": "x", "b": "y", "c": "z"})
    assert batch.run("-q", "--redo", "all").status == 0, "the whole command has it"
    (batch.rundir / "tasks.jsonl").write_text(json.dumps({"id": "d", "prompt": "x"}) + "\n")
    retry = ("batch", "retry", "runs", "-q", "--api-key", "k")
    found = zot.run(*retry)
    assert found.status == Status.USAGE.exit_code
    assert (
        f"batch.json: keeps the address http://***@{host} without its user name and password: give it" in found.stderr
    )
    assert "d" not in batch.finals()
    found = zot.run(*retry, "--base-url", address)
    assert (found.status, batch.finals()["d"]) == (0, 1), found.stderr
    assert "changed since" not in found.stderr


def test_names_of_files_may_be_any_bytes(batch: Replayed) -> None:
    """Of the project and of what a task makes: the patch, the results and the page of the task have them escaped."""
    odd = os.fsdecode(b"\xff\n\x1b[31m.txt")
    (batch.zot.cwd / odd).write_text("a\n")
    os.mkfifo(batch.zot.cwd / f"pipe{odd}")
    batch.tasks({"a": {"prompt": "go", "setup": 'for f in *.txt; do [ -p "$f" ] || echo b >> "$f"; done'}})
    found = batch.run("--workspace", "copy")
    assert (found.status, found.leftovers) == (0, []), found
    assert "\x1b" not in found.stderr
    (outcome,) = batch.results().values()
    escaped = r"\377\n\033[31m.txt"
    assert f'+++ "b/{escaped}"' in (batch.rundir / outcome["diff"]).read_text()
    assert f'not copied: "pipe{escaped}": a named pipe' in (batch.rundir / "runs/a/1.stderr").read_text()
    assert batch.zot.run("report", "runs", "-o", "page.html").status == 0
    (page,) = (batch.zot.cwd / "page-tasks").glob("*.html")
    assert escaped in page.read_text()


@pytest.mark.parametrize("flags", [["-o", "o\udcff", "--workspace", "copy"], ["--system-prompt", "\udcff"], []])
def test_a_folder_or_a_flag_that_is_no_text_is_named(batch: Replayed, flags: list[str]) -> None:
    odd = batch.zot.cwd / "\udcff"
    odd.mkdir()
    shutil.copy(batch.zot.cwd / "t.jsonl", odd)
    found = batch.run(*flags, cwd=batch.zot.cwd if flags else odd)
    assert (found.status, found.stdout, found.leftovers) == (Status.USAGE.exit_code, b"", []), found
    (line,) = found.stderr.splitlines()
    assert line.endswith("\ufffd' is not valid UTF-8, as folders and flags must be in a batch")


@pytest.mark.slow
def test_the_folder_of_a_template_that_was_killed_in_its_rehearsal_is_deleted(batch: Replayed, tmp_path: Path) -> None:
    folder = tmp_path / "zot-rehearsal-abcd_123" / "home"
    folder.mkdir(parents=True)
    assert batch.run("-q", cold=True, env={"TMPDIR": str(tmp_path)}).status == 0
    assert not folder.parent.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "warned"), [(["-j", "2"], 1), (["-j", "1"], 0), (["--workspace", "copy"], 0)])
def test_tasks_that_write_into_one_folder_are_warned_of_once(batch: Replayed, flags: list[str], warned: int) -> None:
    """Other cases: agent/batch/opening/test_writers.py."""
    found = batch.run("--no-progress", *flags)
    assert found.stderr.count(f"zot batch: 4 tasks may change {batch.zot.cwd}"[:60]) == warned
    if warned:
        again = batch.run("--no-progress", *flags, "--redo", "a")
        assert "may change" not in again.stderr, "one task is alone"
        assert batch.run("-q", *flags, "--redo", "all").stderr == ""
