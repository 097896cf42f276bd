"""A small file of another user is read without waiting, and only up to a limit."""

from __future__ import annotations

import os

import pytest

from supervisor.discovery.discover import read_manifest
from supervisor.home.safe_files import LIMIT, read_file, replace_file
from wire.manifest import ManifestError


def test_what_is_written_is_read(tmp_path):
    replace_file(tmp_path / "file", b"x" * 3_000_000, mode=0o600)
    assert read_file(tmp_path / "file") == b"x" * 3_000_000
    assert os.listdir(tmp_path) == ["file"]


HOSTILE = {
    "a FIFO": os.mkfifo,
    "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link to the terminal": lambda path: path.symlink_to("/dev/tty"),
    "a folder": lambda path: path.mkdir(),
    "too large": lambda path: path.touch() or os.truncate(path, LIMIT + 1),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_manifest_that_is_none_is_refused_at_once(tmp_path, make):
    make(tmp_path / "extension.json")
    with pytest.raises(ManifestError, match="read manifest: "):
        read_manifest(tmp_path)
