"""Where an extension keeps its data."""

from __future__ import annotations

import json
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.discovery.data_dir import DataDir, name_of, prepare, state_in
from supervisor.discovery.found_extension import FoundExtension, Scope
from tests.support.host import Host
from tests.support.patience import PATIENCE_S
from wire.manifest import Manifest, parse_manifest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "extensions" / "todo"
    made.mkdir(parents=True)
    (made / "extension.json").write_text("{}")
    return made


def found(folder: Path, scope: Scope = Scope.GLOBAL) -> FoundExtension:
    return FoundExtension(folder, Manifest("todo", "./todo"), scope)


def test_the_data_folder_is_private(folder, tmp_path):
    kept = prepare(found(folder), tmp_path / "home" / "data")
    assert kept == DataDir(tmp_path / "home" / "data" / "todo")
    for folder in (kept.path, kept.path.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_content_of_the_data_folder_stays(folder, tmp_path):
    kept = prepare(found(folder), tmp_path / "data")
    (kept.path / "state").write_text("1")
    assert prepare(found(folder), tmp_path / "data") == kept
    assert (kept.path / "state").read_text() == "1"


def test_without_a_home_the_data_folder_is_the_extensions_own(folder):
    assert prepare(found(folder), None) == DataDir(folder)


def test_a_copilot_extension_gets_none_since_nobody_tells_it(folder, tmp_path):
    extension = FoundExtension(
        folder, Manifest("todo", "node", args=["extension.mjs"], dialect="copilot"), Scope.GLOBAL
    )
    assert prepare(extension, tmp_path / "data") == DataDir(folder)
    assert not (tmp_path / "data").exists()


def test_state_that_is_there_already_is_kept_in_use_until_there_is_a_new_folder(folder, tmp_path):
    (folder / "todo.json").write_text("[]")
    assert prepare(found(folder), tmp_path / "data") == DataDir(folder)
    (tmp_path / "data" / "todo").mkdir(parents=True)
    assert prepare(found(folder), tmp_path / "data") == DataDir(tmp_path / "data" / "todo")


STATE = ["todo.json", "LOG.JSONL", "cache.db", "x.sqlite3", "x.sqlite-wal"]
PROGRAM = ["package.json", "package-lock.json", "tsconfig.build.json", "test.jsonl", "tests.json", "a.schema.json",
           "deno.json", ".eslintrc.json", "todo.py", "README.md"]  # fmt: skip


@pytest.mark.parametrize("name", STATE)
def test_what_looks_like_state(folder, name):
    (folder / name).write_text("")
    assert state_in(folder) == [name]


@pytest.mark.parametrize("name", PROGRAM)
def test_what_belongs_to_programs(folder, name):
    (folder / name).write_text("")
    assert state_in(folder) == []


def test_folders_are_no_state_unless_it_is_known_what_was_installed(folder):
    for name in ("store.json", "node_modules", "lists"):
        (folder / name).mkdir()
    (folder / "rules.json").write_text("[]")
    assert state_in(folder) == ["rules.json"]
    (folder / ".zot-install.json").write_text(json.dumps({"files": ["extension.json", "rules.json"]}))
    assert state_in(folder) == ["lists", "store.json"]


@pytest.mark.parametrize("record", ["{", "[]", "{}", '{"files": 3}'])
def test_a_record_that_says_nothing_is_none(folder, record):
    (folder / ".zot-install.json").write_text(record)
    (folder / "todo.json").write_text("")
    assert state_in(folder) == ["todo.json"]


def test_projects_do_not_share_it_and_ext_does_not_change_it(tmp_path):
    folders = [tmp_path / project / ".zot" / "extensions" / "todo" for project in ("one", "two")]
    names = [name_of(found(folder, Scope.PROJECT)) for folder in folders]
    assert names == [name_of(found(folder, Scope.EXPLICIT)) for folder in folders]
    assert len(set(names)) == 2
    assert {len(name) for name in names} == {len("todo-") + 8}
    assert name_of(found(tmp_path / "todo", Scope.EXPLICIT)) == "todo"


def test_a_project_reached_by_a_link_is_the_same(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "way").symlink_to("one")
    inside = (".zot", "extensions", "todo")
    assert name_of(found(tmp_path.joinpath("way", *inside))) == name_of(found(tmp_path.joinpath("one", *inside)))


@pytest.mark.parametrize("name", ["data", "data/todo"])
def test_a_data_folder_that_cannot_be_made_is_a_warning(folder, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    kept = prepare(found(folder), tmp_path / "data")
    assert kept.path == folder
    assert f"its data folder {tmp_path / 'data' / 'todo'} cannot be made: " in kept.trouble


KEEPER = """
import json, sys
print('{"type": "hello", "name": "x"}', flush=True)
told = json.loads(sys.stdin.readline())["data_dir"]
print(json.dumps({"type": "notify", "level": "info", "message": told}), flush=True)
print('{"type": "ready"}', flush=True)
sys.stdin.read()
"""


def start(host: Host, folder: Path, data: Path, **fields: Any) -> None:
    manifest = {"name": "todo", "exec": sys.executable, "args": ["-I", "-S", "-c", KEEPER], **fields}
    extension = FoundExtension(folder, parse_manifest(json.dumps(manifest).encode()), Scope.GLOBAL)
    host.supervisor.start([extension], {}, data)
    assert host.supervisor.settle(host.loop.clock() + PATIENCE_S)


def test_every_worker_is_told_of_the_data_folder(folder, tmp_path):
    with Host(tmp_path) as host:
        start(host, folder, tmp_path / "data", workers=2)
        host.until(lambda: len(host.notes) == 2)
        assert {text for _, _, text in host.notes} == {str(tmp_path / "data" / "todo")}


def test_an_extension_starts_without_a_data_folder(folder, tmp_path):
    (tmp_path / "data").write_text("")
    with Host(tmp_path) as host:
        start(host, folder, tmp_path / "data")
        ((kind, message),) = host.said_of("todo")
        assert kind == "warning"
        assert "it keeps its data in" in message
        assert host.notes == [("todo", "info", str(folder))]
