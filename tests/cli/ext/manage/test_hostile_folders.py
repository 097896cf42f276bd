"""No command breaks, whatever an extension has done to its folder and whatever a source contains."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from supervisor.home.delete_tree import delete
from supervisor.install.tree import DEEPEST
from tests.support.hostile_tree import deep, hostile
from tests.support.install_sources import commit, contents, repository
from tests.support.zot_fork import run


@pytest.fixture
def clean(zot, made):
    """pytest could not delete what these tests make."""
    yield made
    assert (delete(zot.home), delete(made)) == ("", "")


def test_a_source_that_is_too_deep_is_refused_in_one_line(zot, clean):
    (clean / "allowed").mkdir()
    deep(clean / "allowed", DEEPEST - 1, "d")
    assert run(zot, "ext", "install", clean).status == 0
    deep(clean, 1200)
    for words in (["install", "--force", clean], ["update", "guard"]):
        outcome = run(zot, "ext", *words)
        said = f"{clean}/depth: holds more than {DEEPEST} folders within each other; make it less deep"
        assert (outcome.status, outcome.stderr) == (1, f"zot ext {words[0]}: {said}\n")
    assert contents(zot.home / "extensions") == ["guard"]


def test_long_paths_are_refused_before_anything_is_copied(zot, clean):
    deep(clean, 8, "n" * 200)
    outcome = run(zot, "ext", "install", clean)
    said = f"zot ext install: {clean}/{'n' * 200}: holds a path of more than 1024 bytes; shorten the names in it\n"
    assert (outcome.status, outcome.stderr) == (1, said)
    assert not zot.home.exists()


def test_what_an_extension_has_made_is_removed_and_its_data_stays(zot, clean, installed):
    data = zot.home / "data" / "guard"
    for again in (False, True):  # the second time the data folder is full of the same names
        installed(clean)
        folder = zot.home / "extensions" / "guard"
        hostile(folder)
        (folder / "todos.json").write_text("{}")
        (folder / ".zot-install.json").chmod(0o000)
        folder.chmod(0o000)
        if again:
            data.chmod(0o000)
        for words in (["list"], ["info", "guard"], ["list", "--json"]):
            assert "Traceback" not in run(zot, "ext", *words).text
        outcome = run(zot, "ext", "remove", "guard", "--yes")
        assert outcome.status == 0, outcome.stderr
        assert "\x1b" not in outcome.stderr
        assert len(outcome.stderr.splitlines()) == 3
        assert contents(zot.home / "extensions") == []
        assert (data / f"todos.json{'.kept' if again else ''}").exists()
        assert (data / f"closed555{'.kept' if again else ''}" / "inside").exists()
    installed(clean)
    outcome = run(zot, "ext", "remove", "guard", "--yes", "--purge")
    assert outcome.stderr.splitlines()[-1] == "  its data is deleted"
    assert not data.exists()


def test_a_closed_folder_is_replaced_with_its_data_kept(zot, clean, installed):
    installed(clean)
    folder = zot.home / "extensions" / "guard"
    (folder / "todos.json").write_text("{}")
    folder.chmod(0o000)
    assert run(zot, "ext", "install", "--force", clean).status == 0
    assert (folder / "todos.json").read_text() == "{}"


def test_what_cannot_be_deleted_is_told_in_one_line_and_is_in_nobodys_way(zot, clean, installed, monkeypatch):
    parent = zot.home / "extensions"
    left = parent / ".guard.01234567.gone"
    (left / "tree" / "a").mkdir(parents=True)
    hostile(left / "tree" / "a")
    installed(clean)
    assert contents(parent) == ["guard"], "the remains of a killed command are deleted"
    (left / "tree").mkdir(parents=True)
    monkeypatch.setattr(
        "supervisor.install.staging_folder.delete", lambda path: f"{path}/tree\x1b[2J/file: Not permitted"
    )
    told = f"{left}/tree/file: Not permitted"
    for words in (["list"], ["info", "guard"], ["disable", "guard"]):
        outcome = run(zot, "ext", *words)
        assert (outcome.status, told) == (0, outcome.stderr.splitlines()[0].partition("cannot be deleted: ")[2])
    outcome = run(zot, "ext", "remove", "guard", "--yes")
    assert outcome.status == 0
    assert "  some of it cannot be deleted: " in outcome.stderr
    assert [name for name in contents(parent) if not name.startswith(".")] == []


def test_a_repository_brings_no_caches(zot, made):
    repository(made)
    for folder in (made / "__pycache__", made / "package" / "__pycache__"):
        folder.mkdir(parents=True)
        (folder / "guard.cpython-311.pyc").write_bytes(b"not from this source")
    (made / "package" / "module.py").write_text("")
    commit(made)
    assert run(zot, "ext", "install", f"file://{made}").status == 0
    folder = zot.home / "extensions" / "guard"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) == [
        ".zot-install.json", "extension.json", "package", "package/module.py", "run",
    ]  # fmt: skip


def test_an_extension_is_removed_while_a_process_writes_into_its_folder(zot, made, installed):
    installed(made)
    folder = zot.home / "extensions" / "guard"
    started, ready = os.pipe()
    writer = os.fork()
    if not writer:
        os.chdir(folder)
        count = 0
        while True:
            count += 1
            try:
                os.mkdir(f"cache{count}")
                Path(f"cache{count}/file").write_text("")
            except OSError:
                os._exit(0)
            if count == 10:
                os.write(ready, b"x")
            time.sleep(0.001)  # its pace: all that it has written by then is to be deleted
    os.read(started, 1)
    try:
        outcome = run(zot, "ext", "remove", "guard", "--yes", "--purge")
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    assert outcome.status == 0, outcome.stderr
    assert "guard" not in contents(zot.home / "extensions")
    run(zot, "ext", "list")
    assert contents(zot.home / "extensions") == []
