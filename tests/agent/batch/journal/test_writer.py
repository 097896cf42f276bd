"""The writer tells of a record once it is on the disk, and never before."""

from __future__ import annotations

import errno
import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.journal import writer
from agent.batch.journal.errors import DamagedError, FolderError, JournalError
from agent.batch.journal.reader import read_journal
from agent.batch.journal.writer import Journal, JournalState
from supervisor.home import safe_files
from supervisor.loop.loop import Loop
from tests.support.batch_journal import open_journal, outcome, ran
from wire.batch.journal_lines import decode_line
from wire.batch.outcome import TaskStatus


def lines_of(folder):
    return [decode_line(text) for text in (folder / "journal.jsonl").read_bytes().splitlines()]


def turn(loop, action=lambda: None):
    """One pass of the loop, in which `action` is called."""
    loop.call_later(0, action)
    passes = loop.passes
    loop.run_until(lambda: loop.passes > passes)


def test_lines_of_one_turn_are_one_commit_and_callbacks_come_after_it(tmp_path, loop):
    journal = open_journal(tmp_path / "a" / "b", loop)
    seen = []

    def act():
        for task in "xyz":
            journal.started(task, 1)
            journal.when_durable(lambda task=task: seen.append((task, len(lines_of(tmp_path / "a" / "b")))))
        assert seen == []
        assert journal.state.tasks == {}

    turn(loop, act)
    assert seen == [("x", 3), ("y", 3), ("z", 3)]
    assert journal.commits == 1
    assert [(line.seq, line.commit) for line in lines_of(tmp_path / "a" / "b")] == [(1, 1), (2, 1), (3, 1)]
    assert list(journal.state.interrupted()) == ["x", "y", "z"]
    journal.close()


def test_what_callbacks_append_is_the_next_commit(tmp_path, loop):
    journal = open_journal(tmp_path, loop)
    seen = []

    def told():
        seen.append("first")
        journal.started("b", 1)
        journal.started("c", 1)
        journal.when_durable(lambda: seen.append("second"))

    turn(loop, lambda: (journal.started("a", 1), journal.when_durable(told)))
    assert (seen, journal.commits) == (["first"], 1)
    loop.run_until(lambda: len(seen) == 2)
    assert [line.commit for line in lines_of(tmp_path)] == [1, 2, 2]
    journal.close()


def test_a_callback_without_a_line_comes_in_the_loop_too(tmp_path, loop):
    journal = open_journal(tmp_path, loop)
    seen = []
    journal.when_durable(lambda: seen.append(1))
    assert seen == []
    loop.run_until(lambda: bool(seen))
    assert journal.commits == 0
    journal.close()


def test_close_writes_what_waits_and_tells_it(tmp_path, loop):
    journal = open_journal(tmp_path, loop)
    seen = []
    journal.started("a", 1)
    journal.when_durable(lambda: (journal.closed("stopped"), journal.when_durable(lambda: seen.append("closed"))))
    journal.close()
    journal.close()
    assert (seen, len(lines_of(tmp_path)), journal.life) == (["closed"], 2, JournalState.CLOSED)
    journal.started("b", 1)
    assert not journal.sync()
    turn(loop)
    assert len(lines_of(tmp_path)) == 2


def test_a_batch_goes_on_where_it_was(tmp_path, loop):
    ran(tmp_path, loop, outcome("a"), outcome("b", status=TaskStatus.ERROR))
    journal = open_journal(tmp_path, loop)
    assert journal.state.statuses() == {"ok": 1, "error": 1}
    journal.reopened("b")
    journal.started("b", 2)
    journal.finished(outcome("b", 2), final=True)
    journal.close()
    assert [line.seq for line in lines_of(tmp_path)] == list(range(1, 10))
    history = read_journal(tmp_path / "journal.jsonl").state.history("b")
    assert (history.status, history.attempt) == (TaskStatus.OK, 2)
    with open(tmp_path / "journal.jsonl", "rb") as file:
        file.seek(history.offset)
        assert decode_line(file.readline()[:-1]).outcome == outcome("b", 2)
    assert journal.state.history("b") == history


def test_the_state_of_a_writer_is_that_of_a_reader(tmp_path, loop):
    journal = open_journal(tmp_path, loop)
    for number in range(20):
        journal.started(str(number % 7), number // 7 + 1)
        if number % 3:
            journal.finished(outcome(str(number % 7), number // 7 + 1), final=bool(number % 2))
        if number % 4:
            journal.sync()
    journal.close()
    read = read_journal(tmp_path / "journal.jsonl").state
    assert (journal.state.tasks, journal.state.usage, journal.state.stragglers) == (
        read.tasks,
        read.usage,
        read.stragglers,
    )


@pytest.mark.slow
def test_the_torn_tail_is_cut_aside_at_every_byte_of_the_last_lines(tmp_path, loop):
    ran(tmp_path, loop, outcome("a"), outcome("b"))
    path, torn = tmp_path / "journal.jsonl", tmp_path / "journal.torn"
    whole = path.read_bytes()
    texts = whole.splitlines(keepends=True)
    for size in range(len(whole) - len(texts[-1]) - len(texts[-2]), len(whole)):
        path.write_bytes(whole[:size])
        torn.unlink(missing_ok=True)
        journal = open_journal(tmp_path, loop)
        kept = path.stat().st_size
        if kept < size:
            marker, tail = torn.read_bytes().split(b"\n", 1)
            assert tail == whole[kept:size] + b"\n"
            assert msgspec.json.decode(marker)["offset"] == kept
            assert f"{size - kept} bytes at the end" in journal.notices[0]
        else:
            assert not torn.exists()
            assert journal.notices == []
        journal.started("c", 1)
        journal.close()
        assert whole.startswith(path.read_bytes()[:kept])
        assert read_journal(path).lines == whole[:kept].count(b"\n") + 1


@given(st.data())
def test_a_history_that_is_cut_anywhere_goes_on_to_one_outcome_for_each_task(tmp_path_factory, data):
    """A batch of three tasks is killed up to five times, each time with some of its last bytes lost."""
    folder, loop = tmp_path_factory.mktemp("batch"), Loop()
    finals: dict[str, int] = {}
    for _start in range(data.draw(st.integers(1, 5))):
        journal = open_journal(folder, loop)
        assert {task: history.attempt for task, history in journal.state.tasks.items() if history.is_done} == finals
        safe = (folder / "journal.jsonl").stat().st_size
        for task in data.draw(st.permutations("abc")):
            history = journal.state.history(task)
            if history.is_done:
                continue
            attempt = history.attempts + 1
            journal.started(task, attempt)
            journal.sync()
            if data.draw(st.booleans()):
                final = data.draw(st.booleans())
                journal.finished(outcome(task, attempt), final=final)
                journal.sync()
        journal.close()
        path = folder / "journal.jsonl"
        os.truncate(path, data.draw(st.integers(safe, path.stat().st_size)))
        left = read_journal(path).state
        finals = {task: history.attempt for task, history in left.tasks.items() if history.is_done}
    journal = open_journal(folder, loop)
    for task in "abc":
        if not (history := journal.state.history(task)).is_done:
            journal.started(task, history.attempts + 1)
            journal.finished(outcome(task, history.attempts + 1), final=True)
    journal.close()
    state = read_journal(folder / "journal.jsonl").state
    assert (state.statuses(), state.stragglers) == ({"ok": 3}, 0)
    assert finals.items() <= {task: history.attempt for task, history in state.tasks.items()}.items()
    loop.close()


def test_damage_is_refused_and_the_file_stays(tmp_path, loop):
    ran(tmp_path, loop, outcome("a"), outcome("b"))
    path = tmp_path / "journal.jsonl"
    damaged = path.read_bytes().replace(b'"ok"', b'"on"', 1)
    path.write_bytes(damaged)
    for _attempt in range(2):  # the lock was given back
        with pytest.raises(DamagedError, match="line 3 is damaged: its checksum is wrong"):
            open_journal(tmp_path, loop)
    assert path.read_bytes() == damaged


# --- failures -----------------------------------------------------------------------------------------------


class Broken:
    """A call that fails with an error number, after the first `good` bytes of a write."""

    def __init__(self, call, number, good=0):
        self._call, self._number, self._good = call, number, good

    def __call__(self, fd, text=b""):
        if self._good:
            self._call(fd, text[: self._good])
        raise OSError(self._number, os.strerror(self._number))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EFBIG])
@pytest.mark.parametrize("where", ["write", "half", "sync"])
def test_a_failed_write_ends_the_journal_and_tells_nothing(tmp_path, loop, monkeypatch, number, where):
    reasons, seen = [], []
    journal = Journal.open(tmp_path, loop, on_failure=reasons.append)
    journal.started("a", 1)
    assert journal.sync()
    safe = (tmp_path / "journal.jsonl").read_bytes()
    with monkeypatch.context() as patched:
        if where == "sync":
            patched.setattr(writer, "sync", Broken(None, number))
        else:
            patched.setattr(writer, "write_all", Broken(safe_files.write_all, number, 50 if where == "half" else 0))
        journal.finished(outcome("a"), final=True)
        journal.when_durable(lambda: seen.append("told"))
        turn(loop)
        turn(loop)
    assert journal.life is JournalState.FAILED
    assert len(reasons) == 1
    assert reasons[0].startswith(f"{tmp_path}/journal.jsonl: cannot be written: {os.strerror(number)}; no task starts")
    journal.finished(outcome("a"), final=True)
    journal.when_durable(lambda: seen.append("told"))
    assert not journal.sync()
    turn(loop)
    journal.close()
    assert (seen, len(reasons)) == ([], 1)
    assert (tmp_path / "journal.jsonl").read_bytes() == safe
    assert list(journal.state.interrupted()) == ["a"]
    open_journal(tmp_path, loop).close()


def test_a_short_write_is_completed(tmp_path, loop, monkeypatch):
    write = os.write
    monkeypatch.setattr(safe_files.os, "write", lambda fd, text: write(fd, text[:7]))
    ran(tmp_path, loop, outcome("a"))
    assert len(lines_of(tmp_path)) == 4


def test_a_journal_that_was_removed_or_changed_by_others_fails(tmp_path, loop):
    reasons = []
    journal = Journal.open(tmp_path, loop, on_failure=reasons.append)
    journal.started("a", 1)
    journal.sync()
    with open(tmp_path / "journal.jsonl", "ab") as file:
        file.write(b"theirs\n")
    journal.started("b", 1)
    assert not journal.sync()
    assert "another program has changed its size" in reasons[0]
    assert (tmp_path / "journal.jsonl").read_bytes().endswith(b"theirs\n"), "what is not ours is not cut off"
    journal.close()
    other = Journal.open(tmp_path, loop, on_failure=reasons.append)
    (tmp_path / "journal.jsonl").unlink()
    other.started("b", 1)
    assert not other.sync()
    assert "the file was removed or replaced" in reasons[1]
    other.close()


def test_a_folder_that_cannot_be_made_is_said(tmp_path, loop):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="cannot be opened for writing: Not a directory"):
        open_journal(tmp_path / "file" / "run", loop)
    (tmp_path / "run" / "journal.jsonl").mkdir(parents=True)
    with pytest.raises(FolderError, match=r"journal.jsonl: is a folder, and the batch has a file of its own there"):
        open_journal(tmp_path / "run", loop)
