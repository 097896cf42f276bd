"""The node's copy of an uploaded folder: archives that are cut off or wrong, and what is left of a killed node."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from typing import TYPE_CHECKING

import pytest

from agent.batch.cluster.node.upload_copy import UnpackError, unpack
from tests.support.pipe_carrier import PROGRAM
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

LAST = (".", tarfile.DIRTYPE, b"")


def archive(*entries: tuple[str, bytes, bytes]) -> bytes:
    """The entries are names, kinds, and contents or targets."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, kind, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = kind, 0o755
            if kind == tarfile.REGTYPE:
                entry.size = len(content)
            else:
                entry.linkname = content.decode()
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def refusal(data: bytes, folder: Path) -> str:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        with pytest.raises(UnpackError) as told:
            unpack(os.dup(file.fileno()), folder)
    return str(told.value)


FILE = ("a", tarfile.REGTYPE, os.urandom(100_000))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_an_archive_that_is_cut_off_is_told(tmp_path, share):
    data = archive(FILE, LAST)
    assert "it has ended too early" in refusal(data[: int(len(data) * share)], tmp_path)


def test_an_archive_without_its_last_entry_is_told(tmp_path):
    assert refusal(archive(FILE), tmp_path) == "it has ended too early"


def test_bytes_that_are_no_archive_are_told(tmp_path):
    assert "is no archive" in refusal(b"no archive at all" * 1000, tmp_path)


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x"])
def test_a_path_that_leads_out_is_refused(tmp_path, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    assert "is no path in it" in refusal(archive((name, tarfile.REGTYPE, b"x"), LAST), inner)
    assert os.listdir(tmp_path) == ["inner"]


def test_nothing_is_written_through_a_link(tmp_path):
    inner, target = tmp_path / "inner", tmp_path / "target"
    inner.mkdir()
    target.mkdir()
    data = archive(("a", tarfile.SYMTYPE, str(target).encode()), ("a/x", tarfile.REGTYPE, b"x"), LAST)
    assert "No such file or directory" in refusal(data, inner)
    assert not os.listdir(target)


def test_a_device_is_refused_and_a_name_that_is_there_already_is_told(tmp_path):
    assert "is neither file, folder nor link" in refusal(archive(("p", tarfile.FIFOTYPE, b""), LAST), tmp_path)
    assert "File exists" in refusal(archive(FILE, FILE, LAST), tmp_path)


def test_the_copy_is_the_working_folder_and_the_next_node_removes_that_of_a_killed_one(tmp_path):
    def copies() -> list[str]:
        return [path.name for path in tmp_path.glob("zot-upload-*/a")]

    def start() -> subprocess.Popen[bytes]:
        reading, writing = os.pipe()
        env = {**os.environ, "TMPDIR": str(tmp_path)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "pass_fds": (reading,), "env": env}
        node = subprocess.Popen([sys.executable, "-P", str(PROGRAM), str(reading)], **pipes)
        os.close(reading)
        with open(writing, "wb") as file:
            file.write(archive(("a", tarfile.REGTYPE, b"x"), LAST))
        assert wait_until(lambda: bool(copies()) and "zot-upload-" in os.readlink(f"/proc/{node.pid}/cwd"))
        return node

    with start() as killed:
        killed.kill()
    assert len(copies()) == 1
    with start() as node:
        assert len(copies()) == 1
        node.communicate()
    assert node.returncode == 0
    assert not os.listdir(tmp_path)
