"""Paths of pipes, devices and folders are refused without waiting."""

import os
import socket
from pathlib import Path

import pytest

from agent.tools import read
from tests.support.file_tools import refusal


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(read.run, tmp_path) == "path is required"
    assert refusal(read.run, tmp_path, path="x/../gone") == f"stat {tmp_path}/gone: no such file or directory"
    assert refusal(read.run, tmp_path, path="file/x") == f"stat {tmp_path}/file/x: not a directory"
    assert refusal(read.run, tmp_path, path=".") == f"{tmp_path} is a directory"
    assert refusal(read.run, tmp_path, path="~/x") == f"stat {tmp_path}/~/x: no such file or directory"
    assert refusal(read.run, tmp_path, path="a\0b") == "path must not contain a NUL character"


def test_pipes_sockets_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(read.run, tmp_path, path="pipe") == f"{tmp_path}/pipe is a named pipe, not a regular file"
    assert refusal(read.run, tmp_path, path="/dev/zero") == "/dev/zero is a character device, not a regular file"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert refusal(read.run, tmp_path, path="s") == f"{tmp_path}/s is a socket, not a regular file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch(mode=0)
    assert refusal(read.run, tmp_path, path="a") == f"open {tmp_path}/a: permission denied"
