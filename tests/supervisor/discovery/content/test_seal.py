"""A seal is broken by every change of what was hashed, and by nothing else."""

from __future__ import annotations

import os

import pytest

from supervisor.discovery.content.content_hash import hash_content
from supervisor.discovery.content.seal import Seal
from tests.support.project_extension import append, manifest, rewrite_with_times_kept, written


def replaced(path) -> None:
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)


def swapped(folder) -> None:
    folder.rename(folder.with_name("old"))
    folder.mkdir()


CHANGES = {
    "content": ("lib/rules", lambda folder: append(folder / "lib" / "rules")),
    "replaced by the same": ("lib", lambda folder: replaced(folder / "lib" / "rules")),
    "times set back": ("lib/rules", lambda folder: rewrite_with_times_kept(folder / "lib" / "rules")),
    "new file": ("lib", lambda folder: (folder / "lib" / "more").write_text("")),
    "link turned": ("", lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("run.sh"))),
    "removed": ("lib", lambda folder: (folder / "lib" / "rules").unlink()),
    "folder replaced": ("", swapped),
}


@pytest.mark.parametrize(("path", "change"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_named(folder, path, change):
    seal = Seal(manifest(), hash_content(folder, manifest()).stamps)
    assert seal.first_change() == ""
    before = os.stat(folder / "lib" / "rules").st_ctime_ns
    while os.stat(folder.parent).st_ctime_ns <= before:  # until the clock of the file system has ticked
        os.utime(folder.parent)
    change(folder)
    assert seal.first_change() == os.path.join(folder, path).rstrip("/")


def test_a_folder_that_holds_the_extension_may_change(folder):
    (folder / "root").symlink_to("../../..")
    seal = Seal(manifest(), hash_content(folder, manifest()).stamps)
    (folder.parents[2] / "made meanwhile").write_text("")
    assert seal.first_change() == ""


def test_reading_changes_nothing(folder):
    seal = Seal(manifest(), hash_content(folder, manifest()).stamps)
    (folder / "lib" / "rules").read_text()
    assert list(folder.iterdir())
    assert seal.first_change() == ""


@pytest.mark.parametrize("turned", ["outer", "inner"])
def test_a_link_to_the_folder_that_led_elsewhere_for_a_moment_is_named(folder, tmp_path, turned):
    (tmp_path / "inner").symlink_to(folder.parent)
    (tmp_path / "outer").symlink_to("./inner")
    other = tmp_path / "elsewhere"
    other.symlink_to(tmp_path)
    seal = Seal(manifest(), hash_content(tmp_path / "outer" / folder.name, manifest()).stamps)
    assert seal.first_change() == ""
    before = os.lstat(tmp_path / "outer").st_ctime_ns
    while os.stat(folder.parent).st_ctime_ns <= before:  # until the clock of the file system has ticked
        os.utime(folder.parent)
    link = tmp_path / turned
    for _ in range(2):  # there and back, as a program that wins each race
        link.rename(tmp_path / "third")
        other.rename(link)
        (tmp_path / "third").rename(other)
    assert seal.first_change() == str(link)


@pytest.mark.parametrize(
    ("change", "is_seen", "is_seen_later"),
    [
        (lambda folder: (folder / "todos.json").write_text("[]"), False, False),
        (lambda folder: (folder / "run.log").unlink(), False, False),
        (lambda folder: (folder / "lib" / "x.py").write_text(""), True, False),
        (lambda folder: (folder / "x.json").mkdir(), True, False),
        (lambda folder: ((folder / "run.log").unlink(), (folder / "run.log").symlink_to("run.sh")), True, False),
        (lambda folder: (folder / "lib" / "rules").unlink(), True, True),
        (swapped, True, True),
    ],
    ids=["new data", "removed data", "a new file", "a new folder", "a link", "a file removed", "folder replaced"],
)
def test_data_may_change_at_any_time_and_a_file_come_only_once_it_has_begun(folder, change, is_seen, is_seen_later):
    (folder / "run.log").write_text("")
    made = written(folder, data=["*.json", "*.log"])
    content = hash_content(folder, made)
    seal = Seal(made, content.stamps, content.folders)
    while os.stat(folder.parent).st_ctime_ns <= os.stat(folder).st_ctime_ns:  # until the file system's clock has ticked
        os.utime(folder.parent)
    change(folder)
    assert bool(seal.first_change()) is is_seen
    assert bool(seal.first_change(has_begun=True)) is is_seen_later
