"""Files of --output and --summary: what is refused before a run, and how they are written after it."""

from __future__ import annotations

import os
import stat

import pytest

from cli.run.output import files
from cli.run.output.files import OutputFileError, append_summary, check_files, room_in_summary, write_answer
from cli.run.request import OutputForm, RunOutput


def refusal(output=None, summary=None, **others):
    with pytest.raises(OutputFileError) as refused:
        check_files(
            RunOutput(OutputForm.TEXT, output, summary), [(f"--{name}", value) for name, value in others.items()]
        )
    return str(refused.value)


@pytest.mark.parametrize("flag", ["output", "summary"])
def test_a_file_that_cannot_be_written_is_refused(tmp_path, flag, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "no" / "file")
    whys = {
        f"{tmp_path}/no/a": f"there is no folder {tmp_path}/no; make it first",
        f"{tmp_path}/dangling": f"there is no folder {tmp_path}/no; make it first",
        f"{tmp_path}/file/a": "Not a directory",
        f"{tmp_path}/new/": "it is the name of a folder; name a file in it",
        str(tmp_path): "it is a directory; name a file in it",
        f"{tmp_path}/fifo": "it is no regular file; into a pipe or to a device goes what is printed on stdout",
        f"{tmp_path}/loop": "Too many levels of symbolic links",
        "/dev/null": "it is no regular file; into a pipe or to a device goes what is printed on stdout",
        "-": "give it a file; -p prints the answer on stdout anyway",
        "a\0b": "embedded null byte",
    }
    for path, why in whys.items():
        assert refusal(**{flag: path}).partition(": ")[2].startswith(why), path
        assert refusal(**{flag: path}).startswith(f"--{flag} {path.replace(chr(0), '')}: ")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    assert refusal(**{flag: f"{tmp_path}/new"}) == f"--{flag} {tmp_path}/new: the folder {tmp_path} cannot be written"
    assert refusal(**{flag: f"{tmp_path}/file"}) == f"--{flag} {tmp_path}/file: it cannot be written"
    assert not (tmp_path / "new").exists(), "a check makes nothing"


def test_an_empty_name_is_refused():
    assert refusal("") == "--output is empty: give it a file, or leave it out"
    assert "outside GitHub Actions $GITHUB_STEP_SUMMARY is not set" in refusal(summary=" ")


def test_two_flags_need_two_files(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    same = refusal(f"{tmp_path}/a", f"{tmp_path}/link")
    assert same == f"--summary and --output name the same file, {tmp_path}/link; each needs its own"
    assert refusal(f"{tmp_path}/a", stats=f"{tmp_path}/b/../a").startswith("--output and --stats name the same file")


def test_where_stdout_goes_is_no_file_to_replace(tmp_path, monkeypatch):
    with (tmp_path / "log").open("wb") as log:
        found = os.fstat(log.fileno())
        monkeypatch.setattr(os, "fstat", lambda _descriptor: found)
        assert "stdout or stderr goes there already" in refusal(f"{tmp_path}/log")


def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_keeps_its_own(tmp_path):
    before = os.umask(0o027)
    try:
        write_answer(str(tmp_path / "new"), "Done.\U0001f600")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == "Done.\U0001f600\n".encode()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "old").write_text("a longer text that was there before")
    (tmp_path / "old").chmod(0o604)
    (tmp_path / "link").symlink_to("old")
    inode = (tmp_path / "old").stat().st_ino
    write_answer(str(tmp_path / "link"), "x\udcff")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "old").read_bytes() == b"x?\n"
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o604
    assert (tmp_path / "old").stat().st_ino != inode, "it was replaced at once"
    assert sorted(os.listdir(tmp_path)) == ["link", "new", "old"]


def test_a_failed_write_leaves_the_old_content_and_names_the_file(tmp_path, monkeypatch):
    (tmp_path / "old").write_text("old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputFileError, match=rf"^--output: write {tmp_path}/old: no space left on device$"):
        write_answer(str(tmp_path / "old"), "new")
    assert (tmp_path / "old").read_text() == "old"
    assert os.listdir(tmp_path) == ["old"]


def test_a_summary_is_appended_with_one_write(tmp_path, monkeypatch):
    written = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: written.append(len(data)) or write(fd, data))
    path = str(tmp_path / "summary")
    for _ in range(2):
        append_summary(path, "é" * 100_000)
    assert written == [200_000] * 2
    assert (tmp_path / "summary").read_text() == "é" * 200_000
    assert room_in_summary(path) == files.SUMMARY_LIMIT - 400_000
    monkeypatch.setattr(os, "write", lambda _fd, _data: 3)
    with pytest.raises(OutputFileError, match="only 3 of 5 bytes were written"):
        append_summary(path, "12345")
    with pytest.raises(OutputFileError, match=rf"^--summary: write {tmp_path}: Is a directory$"):
        append_summary(str(tmp_path), "x")
