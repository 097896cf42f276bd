"""A process that writes to a journal and is killed loses nothing that it has told; a second one is refused."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent.batch.journal import lock
from agent.batch.journal.errors import BusyError, JournalError
from agent.batch.journal.lock import Owner, is_locked, owner_file
from agent.batch.journal.reader import read_journal
from agent.batch.journal.writer import NO_LOCKS_NOTE
from supervisor.loop.loop import Loop
from tests.support.batch_journal import open_journal, outcome, ran
from tests.support.mounts import within, without_privileges
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[4]
PROGRAM = [sys.executable, str(ROOT / "tests" / "support" / "appending_program.py")]


def begin(folder, prefix=lambda command: command):
    process = subprocess.Popen(
        prefix([*PROGRAM, str(folder), str(ROOT)]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline()


def test_everything_that_was_told_is_in_the_journal_after_a_kill(tmp_path, loop):
    told: set[int] = set()
    for seed in range(3):
        process, first = begin(tmp_path)
        assert first == "ready\n", process.stderr.read()
        wanted = random.Random(seed).randrange(50, 600)
        with process:
            mine = [int(process.stdout.readline()) for _ in range(wanted)]
            process.send_signal(signal.SIGKILL)
            mine += [int(line) for line in process.stdout if line.endswith("\n")]
        told.update(mine)
        open_journal(tmp_path, loop).close()
        state = read_journal(tmp_path / "journal.jsonl").state
        done = {int(task) for task, history in state.tasks.items() if history.is_done}
        assert told <= done
        assert state.stragglers == 0


def test_a_second_writer_is_refused_and_learns_the_first_ones_pid(tmp_path, loop):
    process, _ready = begin(tmp_path)
    with process:
        with pytest.raises(BusyError, match=f"process {process.pid} runs this batch") as raised:
            open_journal(tmp_path, loop)
        assert raised.value.pid == process.pid
        assert is_locked(tmp_path / "journal.jsonl") == (True, process.pid)
        process.send_signal(signal.SIGKILL)
    assert is_locked(tmp_path / "journal.jsonl") == (False, None)
    open_journal(tmp_path, loop).close()


def test_without_a_list_of_locks_the_last_start_names_the_pid(tmp_path, loop, monkeypatch):
    journal = open_journal(tmp_path, loop)
    journal.opened(version="1", tasks=1, jobs=1)
    journal.sync()
    monkeypatch.setattr(lock, "_locks", lambda _listing: None)
    with pytest.raises(BusyError) as raised:
        open_journal(tmp_path, loop)
    assert raised.value.pid == os.getpid()
    assert is_locked(tmp_path / "journal.jsonl") == (True, None)
    journal.close()
    assert is_locked(tmp_path / "journal.jsonl") == (False, None)


# --- full and read-only disks -------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process cannot be set here")
def test_the_limit_on_file_sizes_ends_the_journal(tmp_path):
    """The kernel takes a part of the write that goes over the limit, and sends SIGXFSZ for the rest."""
    process, _ready = begin(tmp_path)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit := 2_000_000, limit))
    with process:
        told = [int(line) for line in process.stdout]
    assert process.returncode == 7
    contents = read_journal(tmp_path / "journal.jsonl")
    assert contents.torn is None
    assert [int(task) for task in contents.state.tasks] == told


def test_a_full_disk_ends_the_journal(tmp_path):
    folder = tmp_path / "small"
    script = '"$@"; echo "status $?"; cat "$0/journal.jsonl"'
    command = within(folder, "size=200k", ["/bin/sh", "-c", script, str(folder), *PROGRAM, str(folder), str(ROOT)])
    process = subprocess.run(command, capture_output=True, text=True)
    told, _, journal = process.stdout.partition("status 7\n")
    (tmp_path / "copy").write_text(journal)
    contents = read_journal(tmp_path / "copy")
    assert contents.torn is None
    assert [int(task) for task in contents.state.tasks] == [int(line) for line in told.splitlines()[1:]]


def test_a_folder_that_may_not_be_written_to_is_said(tmp_path, loop):
    ran(tmp_path, loop, outcome("1"))
    (tmp_path / "journal.jsonl").chmod(0o444)
    tmp_path.chmod(0o555)
    process, first = begin(tmp_path, without_privileges)
    error = process.communicate(timeout=PATIENCE_S)[1]
    tmp_path.chmod(0o755)
    assert first == ""
    assert f"{tmp_path}/journal.jsonl: cannot be opened for writing: Permission denied" in error


# --- without locks ------------------------------------------------------------------------------------------


@pytest.fixture
def no_locks(monkeypatch):
    def refuse(_fd, _how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)


def test_where_there_are_no_locks_a_file_takes_their_place_and_it_is_said(tmp_path, no_locks):
    loop = Loop()
    journal = open_journal(tmp_path, loop)
    assert journal.notices == [NO_LOCKS_NOTE.format(tmp_path / "journal.lock")]
    assert is_locked(tmp_path / "journal.jsonl") == (True, os.getpid())
    with pytest.raises(BusyError, match=f"process {os.getpid()} runs this batch"):
        open_journal(tmp_path, loop)
    journal.close()
    assert not (tmp_path / "journal.lock").exists()
    loop.close()


def test_the_file_of_a_process_that_is_gone_is_taken_over(tmp_path, no_locks, loop):
    gone = Owner(Owner.this_process().host, os.getpid(), 1.0)  # the pid is in use again
    owner_file(tmp_path / "journal.jsonl").write_bytes(lock.msgspec.json.encode(gone))
    open_journal(tmp_path, loop).close()
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]


@pytest.mark.parametrize("text", [b'{"host":"elsewhere","pid":1,"began":1.0}', b"", b"junk"])
def test_the_file_of_another_host_is_left_to_its_user(tmp_path, no_locks, loop, text):
    owner_file(tmp_path / "journal.jsonl").write_bytes(text)
    who = "a process on elsewhere" if text.startswith(b"{") else "its writer"
    with pytest.raises(
        JournalError, match=f"this file says that {who} runs this batch; if that has ended, delete the file"
    ):
        open_journal(tmp_path, loop)


def test_another_error_of_the_lock_is_an_error(tmp_path, loop, monkeypatch):
    def refuse(_fd, _how):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(JournalError, match="cannot be locked: Input/output error"):
        open_journal(tmp_path, loop)
