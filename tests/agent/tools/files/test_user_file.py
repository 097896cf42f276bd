"""Atomic replacement of a file: modes, links, full disks, and where it must be written in place."""

import errno
import os
import stat
from pathlib import Path

import pytest

from agent.tools import write
from agent.tools.files import user_file
from agent.tools.files.user_file import replace_file
from tests.support.file_tools import refusal, written


@pytest.fixture
def no_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes five bytes of each file and is full then."""
    real_write = os.write
    room = [5]

    def write_some(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = real_write(descriptor, data[: room[0]])
        room[0] -= count
        return count

    monkeypatch.setattr(user_file.os, "write", write_some)


def test_an_old_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    old_umask = os.umask(0o027)
    try:
        (tmp_path / "tool").write_text("old")
        (tmp_path / "tool").chmod(0o751)
        written(tmp_path, path="tool", content="new")
        written(tmp_path, path="d/new", content="new")
    finally:
        os.umask(old_umask)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("tool", "d", "d/new")]
    assert modes == [0o751, 0o750, 0o640]


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("old")
    (tmp_path / "link").symlink_to("real/file")
    (tmp_path / "dangling").symlink_to("real/new")
    written(tmp_path, path="link", content="new")
    written(tmp_path, path="dangling", content="made")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "real/file").read_text() == "new"
    assert (tmp_path / "real/new").read_text() == "made"


def test_a_reader_that_has_the_old_file_open_still_sees_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old" * 1000)
    with (tmp_path / "a").open() as reader:
        written(tmp_path, path="a", content="new")
        assert reader.read() == "old" * 1000


@pytest.mark.usefixtures("no_space")
@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_leaves_the_old_state(tmp_path: Path, exists: bool) -> None:
    if exists:
        (tmp_path / "a").write_text("old")
    assert (
        refusal(write.run, tmp_path, path="a", content="much longer") == f"write {tmp_path}/a: no space left on device"
    )
    assert os.listdir(tmp_path) == (["a"] if exists else [])
    if exists:
        assert (tmp_path / "a").read_text() == "old"


def test_hard_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old and long")
    os.link(tmp_path / "a", tmp_path / "b")
    written(tmp_path, path="a", content="new")
    assert (tmp_path / "b").read_text() == "new"


def test_writing_in_place_reserves_room_before_it_touches_the_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(user_file.os, "posix_fallocate", refuse, raising=False)
    assert (
        refusal(write.run, tmp_path, path="a", content="much longer") == f"write {tmp_path}/a: no space left on device"
    )
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize("step", ["replace", "fchown"])
def test_where_a_new_file_is_forbidden_the_old_one_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (tmp_path / "a").write_text("old and long")
    inode = (tmp_path / "a").stat().st_ino

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM if step == "fchown" else errno.EBUSY, "no")

    monkeypatch.setattr(user_file.os, step, refuse)
    if step == "fchown":
        real_fstat = os.fstat
        calls: list[int] = []

        def fstat_of_another_owner(descriptor: int) -> os.stat_result:
            """The second call looks at the new temporary file."""
            calls.append(descriptor)
            fields = list(real_fstat(descriptor))
            fields[4] += len(calls) > 1
            return os.stat_result(fields)

        monkeypatch.setattr(user_file.os, "fstat", fstat_of_another_owner)
    replace_file(str(tmp_path / "a"), b"new")
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "a").stat().st_ino == inode
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_stay(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    try:
        os.setxattr(tmp_path / "a", "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    written(tmp_path, path="a", content="new")
    assert os.getxattr(tmp_path / "a", "user.note") == b"kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_refused_and_a_read_only_directory_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o444)
    assert refusal(write.run, tmp_path, path="a", content="x") == f"open {tmp_path}/a: permission denied"
    (tmp_path / "a").chmod(0o644)
    tmp_path.chmod(0o555)
    try:
        written(tmp_path, path="a", content="new")
    finally:
        tmp_path.chmod(0o755)
    assert (tmp_path / "a").read_text() == "new"
