"""Whether the source of an installed extension has changed since."""

from __future__ import annotations

import os
import shutil

import pytest

from supervisor.discovery.steps import Allowance
from supervisor.install.install import install, link
from supervisor.install.manage import switch
from supervisor.install.record import newer_source, source_of
from supervisor.install.source import LocalSource, parse_source
from tests.support.install_sources import Scope, repository, shelves, source
from tests.support.project_extension import rewrite_with_times_kept


@pytest.fixture
def here(tmp_path):
    return shelves(tmp_path)


@pytest.fixture
def made(tmp_path):
    folder = source(tmp_path / "made")
    (folder / "lib").mkdir()
    (folder / "lib" / "rules").write_text("1")
    return folder


CHANGES = {
    "nothing": (lambda folder: None, False),
    "times only": (lambda folder: os.utime(folder / "run", (1, 1)), False),
    "what is not installed": (lambda folder: (folder / "__pycache__").mkdir(), False),
    "a file": (lambda folder: (folder / "lib" / "rules").write_text("2"), True),
    "a file of the same size and time": (lambda folder: rewrite_with_times_kept(folder / "lib" / "rules"), True),
    "a new file": (lambda folder: (folder / "new").write_text(""), True),
    "a file less": (lambda folder: (folder / "lib" / "rules").unlink(), True),
    "an exec bit": (lambda folder: (folder / "lib" / "rules").chmod(0o755), True),
    "the manifest": (lambda folder: source(folder, version="2"), True),
    "gone": (shutil.rmtree, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_counts_as_newer(here, made, change):
    placed = install(LocalSource(made), Scope.GLOBAL, here).now
    assert source_of(placed.folder) == made
    act, is_newer = CHANGES[change]
    act(made)
    assert newer_source(placed.folder, Allowance()) == (made if is_newer else None)


def test_changes_of_the_copy_are_no_changes_of_the_source(here, made):
    placed = install(LocalSource(made), Scope.GLOBAL, here).now
    switch(placed, here.home, on=False)
    (placed.folder / "todos.json").write_text("[]")
    assert newer_source(placed.folder, Allowance()) is None


def test_a_project_that_is_its_own_extension(here):
    made = source(here.project)
    placed = install(LocalSource(made), Scope.PROJECT, here).now
    assert newer_source(placed.folder, Allowance()) is None
    (made / "new").write_text("")
    assert newer_source(placed.folder, Allowance()) == made


def test_only_copies_of_folders_have_a_source_to_compare(here, tmp_path, made):
    cloned = install(
        parse_source(f"file://{repository(tmp_path / 'repo', name='cloned')}", tmp_path), Scope.GLOBAL, here
    ).now
    linked = link(LocalSource(made), Scope.GLOBAL, here).now
    by_hand = source(here.home / "extensions" / "by-hand", name="by-hand")
    damaged = source(here.home / "extensions" / "damaged", name="damaged")
    (damaged / ".zot-install.json").write_text("{")
    for folder in (cloned.folder, linked.folder, by_hand, damaged, here.home / "nowhere"):
        assert source_of(folder) is None
        assert newer_source(folder, Allowance()) is None


def test_no_more_is_read_than_is_allowed(here, made):
    placed = install(LocalSource(made), Scope.GLOBAL, here).now
    (made / "lib" / "rules").write_text("2" * 1000)
    assert newer_source(placed.folder, Allowance(files=3)) is None
    assert newer_source(placed.folder, Allowance(bytes=999)) is None
    shared = Allowance(files=6)
    assert newer_source(placed.folder, shared) == made
    assert newer_source(placed.folder, shared) is None
