"""Empty session files go, but never one that a run, or a zot without locks, still writes to."""

from __future__ import annotations

import fcntl
import os
import time

import pytest

from agent.sessions.file import SessionFile
from agent.sessions.places import folder_of, unfinished_path
from agent.sessions.remove import PRUNED_S, prune
from agent.sessions.rows import Meta
from agent.transcript import Message, Text

META = '{"type":"meta","meta":{"id":"1","cwd":"/x"}}\n'
HI = '{"type":"message","message":{"role":"user","content":[{"text":"hi"}]}}\n'
NOW = 2_000_000_000.0
OLD = NOW - PRUNED_S - 10

pytestmark = pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="only Linux has leases")


@pytest.fixture
def make(tmp_path):
    def write(text, name="20260101-000000-00000001.jsonl", mtime=OLD):
        path = folder_of(tmp_path, "/x") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (mtime, mtime))
        return path

    return write


@pytest.mark.parametrize("text", [META, "", META + '{"type":"usage","cumulative":{}}\n' + META])
def test_an_old_file_without_a_message_goes(make, tmp_path, text):
    path = make(text)
    assert prune(tmp_path, "/x", NOW) == [path]
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (META + HI, {}),
        (META, {"mtime": NOW - PRUNED_S + 10}),
        (META + "{edited\n", {}),
        ("my notes\n", {}),
        ("\n", {}),
        (META, {"name": "notes.txt"}),
        (META + '{"type":"compaction","messages":[{"role":"user","content":[{"text":"x"}]}]}\n', {}),
        (META + "\n" * 70_000, {}),
    ],
)
def test_all_others_stay(make, tmp_path, text, more):
    path = make(text, **more)
    assert prune(tmp_path, "/x", NOW) == []
    assert path.read_text() == text


def test_a_file_in_use_stays(make, tmp_path):
    path = make(META)
    with path.open("a"):  # a zot without locks
        assert prune(tmp_path, "/x", NOW) == []
    with path.open() as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        assert prune(tmp_path, "/x", NOW) == []
    file, _ = SessionFile.reopen(path)
    assert prune(tmp_path, "/x", NOW) == []
    file.message(Message("user", (Text("hi"),), ""))
    file.close()
    os.utime(path, (OLD, OLD))
    assert prune(tmp_path, "/x", NOW) == []
    assert HI[:40] in path.read_text()


def test_what_a_killed_run_left_half_made_goes(make, tmp_path):
    path = make(META)
    left = unfinished_path(path)
    path.rename(left)
    assert prune(tmp_path, "/x", NOW) == [left]


def test_a_file_that_changes_before_the_lock_is_got_stays(make, tmp_path, monkeypatch):
    path = make(META)
    real = fcntl.flock

    def late(fd, how):
        with path.open("a") as other:
            other.write(HI)
        real(fd, how)

    monkeypatch.setattr("agent.sessions.remove.fcntl.flock", late)
    assert prune(tmp_path, "/x", NOW) == []
    monkeypatch.undo()
    os.utime(path, (OLD, OLD))
    assert prune(tmp_path, "/x", NOW) == []
    assert path.read_text() == META + HI


def test_runs_that_begin_and_prune_at_the_same_time_lose_nothing(tmp_path):
    """Processes that make sessions, and that prune with a clock a year ahead, so that no age protects a file."""
    ahead = time.time() + 365 * PRUNED_S
    pids = []
    for number in range(8):
        if not (pid := os.fork()):
            status = 1
            try:
                for _ in range(20):
                    if number % 2:
                        prune(tmp_path, "/x", ahead)
                    else:
                        file = SessionFile.new(tmp_path, Meta(cwd="/x"))
                        file.message(Message("user", (Text("hi"),), ""))
                        file.message(Message("assistant", (Text("ho"),), ""))
                        file.close()
                        assert file.error is None
                status = 0
            finally:
                os._exit(status)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 8
    files = list(folder_of(tmp_path, "/x").iterdir())
    assert len(files) == 80
    assert all(path.read_text().count("\n") == 3 for path in files)
