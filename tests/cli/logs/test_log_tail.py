"""The last lines of a rotated log, and lines added later."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.logs import log_tail
from cli.logs.log_tail import Follower, rotation, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "ext-a.log"


@pytest.fixture
def follow(log: Path) -> Iterator[Callable[[], Follower]]:
    with ExitStack() as opened:
        yield lambda: opened.enter_context(closing(Follower(log)))


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
        "ext-a.log.4",
        "ext-a.log.2",
        "ext-a.log.bak",
        "ext-ab.log",
        "ext-a.log1",
    ):
        log.with_name(name).touch()
    assert [file.name for file in rotation(log)] == ["ext-a.log.4", "ext-a.log.2", "ext-a.log.1", "ext-a.log"]
    assert rotation(log.parent / "nowhere" / "x.log") == []


def test_across_rotations_each_line_is_read_once(log, follow):
    log.write_bytes(b"old\n")
    follower = follow()
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


def test_lines_written_and_rotated_in_the_midst_of_a_look_are_read(log, follow, monkeypatch):
    log.write_bytes(b"")
    follower = follow()
    append(log, b"1\n")
    opened = os.open

    def rotated_after_the_newest(path, *rest):
        fd = opened(path, *rest)
        monkeypatch.setattr(os, "open", opened)
        rotate(log)
        log.write_bytes(b"2\n")
        return fd

    monkeypatch.setattr(os, "open", rotated_after_the_newest)
    assert read(follower) == b"1\n"
    assert read(follower) == b"2\n"
    assert (read(follower), follower.lost) == (b"", 0)


def test_a_look_while_the_newest_file_is_just_being_made_skips_what_was_before(log, follow):
    log.with_name("ext-a.log.1").write_bytes(b"old\n")
    follower = follow()
    assert read(follower) == b""
    append(log.with_name("ext-a.log.1"), b"1\n")
    log.write_bytes(b"2\n")
    assert (read(follower), follower.lost) == (b"1\n2\n", 0)


def test_a_log_that_was_deleted_and_comes_again_is_read_from_its_beginning(log, follow):
    log.write_bytes(b"old\n")
    follower = follow()
    log.rename(log.with_name("gone"))
    assert (read(follower), follower.lost) == (b"", 0)
    log.write_bytes(b"new\n")
    assert read(follower) == b"new\n"


def test_without_holding_no_descriptor_is_open_between_two_looks(log):
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    followers = [Follower(log.with_name(f"ext-{number}.log"), holds=False) for number in range(50)]
    log.with_name("ext-7.log").write_bytes(b"x\n")
    assert [read(follower) for follower in followers].count(b"x\n") == 1
    assert len(os.listdir("/proc/self/fd") if before else []) == len(before)


def test_lines_that_were_rotated_away_unread_are_announced(log, follow):
    log.write_bytes(b"")
    follower = follow()
    log.rename(log.with_name("gone"))
    os.remove(log.with_name("gone"))
    log.with_name("ext-a.log.1").write_bytes(b"3\n")
    log.write_bytes(b"4\n")
    assert (read(follower), follower.lost) == (b"3\n4\n", 1)


def test_a_log_may_appear_later_or_be_emptied(log, follow):
    follower = follow()
    assert read(follower) == b""
    log.write_bytes(b"first\n")
    assert read(follower) == b"first\n"
    os.truncate(log, 0)
    append(log, b"new\n")
    assert read(follower) == b"new\n"
