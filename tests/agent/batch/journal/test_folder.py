"""The folder of a batch is told from others."""

from __future__ import annotations

import os

import pytest

from agent.batch.journal.errors import FolderError
from agent.batch.journal.folder import BatchFile, RunFolder
from tests.support.batch_journal import open_journal, run_folder, tasks


def test_what_was_written_is_read_back(tmp_path, loop):
    folder = run_folder(tmp_path / "run", loop, tasks("a", "b"))
    again = RunFolder.existing(tmp_path / "run")
    assert again.read_batch() == folder.read_batch()
    assert again.read_batch().settings == {"model": "m"}
    assert list(again.read_tasks()) == tasks("a", "b")
    assert {path.name for path in again.path.iterdir()} == {"batch.json", "tasks.jsonl", "journal.jsonl"}


def test_files_of_a_task_have_a_safe_name(tmp_path):
    folder = RunFolder(tmp_path)
    assert folder.events("a", 2) == tmp_path / "runs" / "a" / "2.events.jsonl"
    for path in (folder.events("../../etc", 1), folder.stderr("/", 1), folder.diff(".."), folder.workspace("A/b")):
        assert path.resolve().is_relative_to(tmp_path)
        assert ".." not in path.parts


@pytest.mark.parametrize(
    ("names", "foreign"),
    [
        ((), ""),
        (("journal.jsonl", ".batch.json.new", "tasks.jsonl"), ""),
        (("batch.json", "my-notes"), ""),
        (("pyproject.toml", "src"), "pyproject.toml"),
        ((".git",), "git"),
    ],
)
def test_a_batch_begins_only_in_a_folder_of_its_own(tmp_path, names, foreign):
    for name in names:
        (tmp_path / name).touch()
    if foreign:
        with pytest.raises(FolderError, match=rf"is no folder of a batch and not empty \(it has {foreign}\)"):
            RunFolder.for_batch(tmp_path)
    else:
        assert RunFolder.for_batch(tmp_path).path == tmp_path


def test_a_new_folder_is_not_made_yet(tmp_path):
    RunFolder.for_batch(tmp_path / "new")
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(FolderError, match="cannot be used as the folder of a batch: Not a directory"):
        RunFolder.for_batch(tmp_path / "file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "has no batch.json: it is no folder of a batch"),
        (b'{"kind":"zot batch","v":1,"version"', "is not what zot batch has written: .*truncated"),
        (b'{"kind":"other","version":"1","created":"","tasks":1}', "is not what zot batch has written: .*'other'"),
        (b'{"kind":"zot batch","v":2}', r"a newer version of zot has made this folder \(version 2\); use that one"),
    ],
)
def test_a_folder_without_a_good_batch_file_is_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "batch.json").write_bytes(text)
    with pytest.raises(FolderError, match=message):
        RunFolder.existing(tmp_path)


def test_a_folder_that_is_missing_is_said(tmp_path):
    with pytest.raises(FolderError, match="there is no such folder"):
        RunFolder.existing(tmp_path / "none")
    with pytest.raises(FolderError, match=r"tasks.jsonl: cannot be read: No such file"):
        list(RunFolder(tmp_path).read_tasks())


def test_a_task_that_is_damaged_is_named_by_its_line(tmp_path, loop):
    folder = run_folder(tmp_path, loop, tasks("a", "b"))
    folder.tasks_file.write_bytes(folder.tasks_file.read_bytes().replace(b'"b"', b'"b', 1))
    with pytest.raises(FolderError, match=r"tasks.jsonl, line 2: not JSON"):
        list(folder.read_tasks())


def test_a_batch_file_is_replaced_whole_or_not_at_all(tmp_path, loop, monkeypatch):
    folder = run_folder(tmp_path, loop, tasks("a"))
    before = folder.batch_file.read_bytes()

    def refuse(_old, _new):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refuse)
        with pytest.raises(OSError, match="No space"):
            folder.write_batch(BatchFile(version="2", created="", tasks=0))
    assert folder.batch_file.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_whether_a_batch_runs_there(tmp_path, loop):
    folder = RunFolder(tmp_path)
    assert folder.running() == (False, None)
    journal = open_journal(tmp_path, loop)
    assert folder.running() == (True, os.getpid())
    journal.close()
    assert folder.running() == (False, None)
