"""Runs write lines into the pipe of their batch; what they have written by its end is taken."""

from __future__ import annotations

import os
import stat

import pytest

from supervisor.alerts.inbox import LONGEST, Inbox, InboxWriter
from tests.support.patience import soon


@pytest.fixture
def taken() -> list[bytes]:
    return []


def test_lines_of_many_writers_come_whole(loop, tmp_path, taken):
    inbox = Inbox(loop, tmp_path / "run", taken.append)
    assert stat.S_IMODE(inbox.path.stat().st_mode) == 0o600
    writers = [InboxWriter(str(inbox.path)) for _ in range(8)]
    lines = [bytes([65 + number]) * (LONGEST - 1 - number) + b"\n" for number in range(8)]
    for writer, line in zip(writers, lines, strict=True):
        writer.send(line)
        writer.close()
    soon(loop, lambda: len(taken) == 8)
    assert taken == lines
    writers[0].send(b"too late\n")
    inbox.close()
    assert not inbox.path.exists()


def test_its_end_takes_what_has_been_written(loop, tmp_path, taken):
    inbox = Inbox(loop, tmp_path / "run", taken.append)
    writer = InboxWriter(str(inbox.path))
    writer.send(b"last\n")
    inbox.close()
    writer.send(b"nobody reads this\n")
    writer.close()
    assert taken == [b"last\n"]


def test_a_full_pipe_does_not_stop_a_run(loop, tmp_path, taken):
    inbox = Inbox(loop, tmp_path / "run", taken.append)
    writer = InboxWriter(str(inbox.path))
    for _ in range(100):
        writer.send(b"x" * (LONGEST - 1) + b"\n")
    writer.close()
    inbox.close()
    assert 0 < len(taken) < 100
    assert {len(line) for line in taken} == {LONGEST}


def test_without_a_batch_nothing_is_written(tmp_path):
    writer = InboxWriter(str(tmp_path / "gone"))
    writer.send(b"x\n")
    writer.close()


def test_the_pipe_of_a_dead_batch_with_this_pid_is_replaced(loop, tmp_path, taken):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / f"{os.getpid()}.alerts")
    Inbox(loop, folder, taken.append).close()
    assert list(folder.iterdir()) == []
