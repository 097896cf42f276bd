"""The key of a start changes with all that registrations may depend on, and with nothing else."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.extension.lazy import start_key as module
from supervisor.extension.lazy.start_key import start_key
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path


def found(folder: Path, **fields: Any) -> FoundExtension:
    given = {"name": "one", "exec": "./run.sh", "data": ["state.json"], **fields}
    return FoundExtension(folder, parse_manifest(json.dumps(given).encode()), Scope.EXPLICIT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "one"
    (folder / "lib").mkdir(parents=True)
    for name in ("run.sh", "lib/a.py"):
        (folder / name).write_text("a")
    (tmp_path / "shared.py").write_text("s")
    return folder


def test_equal_starts_have_equal_keys(folder: Path):
    first = start_key(found(folder), {"A": "1", "PWD": "/a", "ZOT_HOST_TOKEN": "x"}, "1.0")
    (folder / "state.json").write_text("{}")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_text("compiled")
    (folder / ".git").mkdir()
    again = start_key(found(folder), {"ZOT_HOST_TOKEN": "y", "PWD": "/b", "SHLVL": "2", "A": "1"}, "1.0")
    assert first == again != ""


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "run.sh").write_text("b"),
        lambda folder: (folder / "lib" / "a.py").write_text("longer"),
        lambda folder: (folder / "lib" / "b.py").write_text(""),
        lambda folder: (folder / "lib" / "a.py").unlink(),
        lambda folder: (folder / "empty").mkdir(),
        lambda folder: (folder / "run.sh").chmod(0o755),
        lambda folder: (folder.parent / "shared.py").write_text("other"),
        lambda folder: os.utime(folder / "run.sh", ns=(0, 0)),
    ],
    ids=["file", "file below", "new file", "file gone", "folder", "mode", "file that its command names", "time"],
)
def test_each_change_of_its_files_changes_the_key(folder: Path, change: Any):
    one = found(folder, args=["--lib=../shared.py"])
    before = start_key(one, {}, "1.0")
    change(folder)
    assert start_key(one, {}, "1.0") not in ("", before)


def test_version_environment_and_manifest_change_the_key(folder: Path):
    keys = [
        start_key(found(folder), {}, "1.0"),
        start_key(found(folder), {}, "1.1"),
        start_key(found(folder), {"A": "1"}, "1.0"),
        start_key(found(folder), {"A": "2"}, "1.0"),
        start_key(found(folder, priority=1), {}, "1.0"),
        start_key(found(folder, args=["x"]), {}, "1.0"),
    ]
    assert len(set(keys)) == len(keys)


def test_too_many_files_have_no_key(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FILES_LIMIT", 2)
    assert start_key(found(folder), {}, "1.0") == ""


def test_a_folder_that_cannot_be_looked_at_has_no_key(tmp_path: Path):
    assert start_key(found(tmp_path / "nowhere"), {}, "1.0") == ""


def test_names_that_are_no_text_do_no_harm(folder: Path):
    (folder / os.fsdecode(b"\xff.py")).touch()
    assert start_key(found(folder), {"A": os.fsdecode(b"\xff")}, "1.0") != ""
