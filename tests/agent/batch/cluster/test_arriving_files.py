"""Files of runs come into RUNDIR whole, under one name, or not at all."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from agent.batch.cluster import arriving_files
from agent.batch.cluster.arriving_files import ArrivingFiles
from agent.batch.journal.errors import FolderError
from agent.batch.journal.folder import RunFolder
from wire.batch.node_frames import File, FrameError

if TYPE_CHECKING:
    from pathlib import Path


def piece(data: bytes, *, name: str = "diffs/t.diff", first: bool = True, last: bool = True) -> File:
    return File(run="1-1", name=name, data=data, is_first=first, is_last=last)


@pytest.fixture
def files(tmp_path: Path) -> ArrivingFiles:
    found = ArrivingFiles(RunFolder(tmp_path))
    found.expect("1-1", "t")
    return found


@pytest.mark.parametrize("name", ["../t.diff", "diffs/../journal.jsonl", "diffs/u.diff", "/etc/t.diff", "", "t.diff"])
def test_another_name_is_refused(files: ArrivingFiles, tmp_path: Path, name: str) -> None:
    with pytest.raises(FrameError, match="not the run's"):
        files.take(piece(b"x", name=name))
    assert list(tmp_path.iterdir()) == []


def test_a_file_has_its_name_once_it_is_whole(files: ArrivingFiles, tmp_path: Path) -> None:
    files.take(piece(b"one ", last=False))
    assert not (tmp_path / "diffs" / "t.diff").exists()
    files.take(piece(b"two", first=False))
    assert (tmp_path / "diffs" / "t.diff").read_bytes() == b"one two"
    assert os.listdir(tmp_path / "diffs") == ["t.diff"]


def test_nothing_follows_a_piece_that_had_no_room(
    files: ArrivingFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be room again for the last piece: the file would have a hole."""

    def full(_fd: int, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    files.take(piece(b"one ", last=False))
    with monkeypatch.context() as patched:
        patched.setattr(arriving_files, "write_all", full)
        with pytest.raises(OSError, match="No space"):
            files.take(piece(b"two ", first=False, last=False))
    files.take(piece(b"three", first=False))
    assert os.listdir(tmp_path / "diffs") == []
    files.end("1-1")


def test_a_part_goes_with_its_run(files: ArrivingFiles, tmp_path: Path) -> None:
    files.take(piece(b"one ", last=False))
    files.end("1-1")
    assert os.listdir(tmp_path / "diffs") == []
    files.take(piece(b"late"))
    assert os.listdir(tmp_path / "diffs") == []


def test_the_second_piece_comes_after_the_first(files: ArrivingFiles) -> None:
    with pytest.raises(FrameError, match="out of its place"):
        files.take(piece(b"x", first=False))
    files.take(piece(b"x", last=False))
    with pytest.raises(FrameError, match="out of its place"):
        files.take(piece(b"x"))
    files.end("1-1")


def test_a_link_in_place_of_the_folder_is_not_followed(files: ArrivingFiles, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "diffs").symlink_to(elsewhere)
    with pytest.raises(FolderError, match="is a link"):
        files.take(piece(b"x"))
    assert list(elsewhere.iterdir()) == []
