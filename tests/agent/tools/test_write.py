"""The `write` tool: its result, parent folders, and targets that it refuses."""

import os
from pathlib import Path

from agent.tools import write
from tests.support.file_tools import refusal, written


def test_the_result_is_the_content_and_parents_are_made(tmp_path: Path) -> None:
    assert written(tmp_path, path="a/b/c.txt", content="héllo\r\n") == "héllo\r\n"
    assert (tmp_path / "a/b/c.txt").read_bytes() == "héllo\r\n".encode()


def test_missing_content_makes_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    assert written(tmp_path, path="a") == ""
    assert (tmp_path / "a").read_bytes() == b""


def test_a_lone_surrogate_is_written_as_a_replacement_character(tmp_path: Path) -> None:
    assert written(tmp_path, path="a", content="x\ud800y") == "x\ufffdy"
    assert (tmp_path / "a").read_text(encoding="utf-8") == "x\ufffdy"


def test_targets_that_are_no_writable_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    assert refusal(write.run, tmp_path, content="x") == "path is required"
    assert refusal(write.run, tmp_path, path=".") == f"open {tmp_path}: is a directory"
    assert refusal(write.run, tmp_path, path="file/x") == f"mkdir {tmp_path}/file: not a directory"
    assert refusal(write.run, tmp_path, path="file/x/y") == f"mkdir {tmp_path}/file: not a directory"
    assert refusal(write.run, tmp_path, path="loop") == f"open {tmp_path}/loop: too many levels of symbolic links"
    assert refusal(write.run, tmp_path, path="pipe") == f"{tmp_path}/pipe is a named pipe, not a regular file"
    assert sorted(os.listdir(tmp_path)) == ["file", "loop", "pipe"]
