"""The last lines of a rotated log, and lines added later."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.logs import log_tail
from cli.logs.log_tail import Follower, rotation, tail


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "ext-a.log"


def last_lines(path: Path, count: int, end: int | None = None) -> bytes:
    return b"".join(piece.data for piece in tail(path, count, end))


def read(follower: Follower) -> bytes:
    return b"".join(piece.data for piece in follower.read())


def append(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def rotate(log: Path) -> None:
    for file in rotation(log):
        number = int(file.suffix[1:]) if file != log else 0
        file.rename(log.with_name(f"{log.name}.{number + 1}"))


@given(st.lists(st.lists(st.sampled_from([b"a", b"bcd", b"\n"])).map(b"".join), max_size=4), st.integers(0, 9))
def test_the_last_lines_are_those_of_all_the_bytes(contents, count):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_tail, "BLOCK", 3)
        log = Path(folder) / "x.log"
        for number, content in enumerate(reversed(contents)):
            log.with_name(f"x.log.{number}" if number else "x.log").write_bytes(content)
        lines = b"".join(contents).splitlines(keepends=True)
        assert last_lines(log, count) == b"".join(lines[len(lines) - min(count, len(lines)) :])
        files = {file.stat().st_ino: file.read_bytes() for file in rotation(log)}
        for piece in tail(log, count):
            assert files[piece.inode][piece.position :].startswith(piece.data)


def test_the_end_may_be_given(log):
    log.write_bytes(b"a\nb\nc\n")
    assert last_lines(log, 1, end=4) == b"b\n"


def test_only_its_own_files_count(log):
    for name in (
        "ext-a.log",
        "ext-a.log.1",
        "ext-a.log.10",
        "ext-a.log.2",
        "ext-a.log.bak",
        "ext-ab.log",
        "ext-a.log1",
    ):
        log.with_name(name).touch()
    assert [file.name for file in rotation(log)] == ["ext-a.log.10", "ext-a.log.2", "ext-a.log.1", "ext-a.log"]
    assert rotation(log.parent / "nowhere" / "x.log") == []


def test_across_rotations_each_line_is_read_once(log):
    log.write_bytes(b"old\n")
    follower = Follower(log)
    assert read(follower) == b""
    append(log, b"1\n")
    assert read(follower) == b"1\n"
    append(log, b"2\n")
    rotate(log)
    assert read(follower) == b"2\n"
    log.write_bytes(b"3\n")
    rotate(log)
    log.write_bytes(b"4\n")
    rotate(log)
    log.write_bytes(b"5\n")
    assert read(follower) == b"3\n4\n5\n"
    assert (read(follower), follower.lost) == (b"", 0)
    follower.close()


def test_lines_written_and_rotated_between_two_looks_are_read(log, monkeypatch):
    log.write_bytes(b"")
    follower = Follower(log)
    look = follower._newer

    def rotated_before_the_look():
        monkeypatch.setattr(follower, "_newer", look)
        append(log, b"1\n")
        rotate(log)
        log.write_bytes(b"2\n")
        return look()

    monkeypatch.setattr(follower, "_newer", rotated_before_the_look)
    assert read(follower) == b"1\n2\n"
    assert (read(follower), follower.lost) == (b"", 0)
    follower.close()


def test_lines_that_were_rotated_away_unread_are_announced(log):
    log.write_bytes(b"")
    follower = Follower(log)
    log.rename(log.with_name("gone"))
    os.remove(log.with_name("gone"))
    log.with_name("ext-a.log.1").write_bytes(b"3\n")
    log.write_bytes(b"4\n")
    assert (read(follower), follower.lost) == (b"3\n4\n", 1)
    follower.close()


def test_a_log_may_appear_later_or_be_emptied(log):
    follower = Follower(log)
    assert read(follower) == b""
    log.write_bytes(b"first\n")
    assert read(follower) == b"first\n"
    os.truncate(log, 0)
    append(log, b"new\n")
    assert read(follower) == b"new\n"
    follower.close()
