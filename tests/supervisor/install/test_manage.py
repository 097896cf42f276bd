"""A removal keeps data, a switch keeps everything else, and a name means one extension."""

from __future__ import annotations

import json
import os
import stat

import pytest

from supervisor.home import safe_files
from supervisor.install.errors import InstallError, MisuseError
from supervisor.install.install import install
from supervisor.install.installed_extension import (
    ExtensionFolders,
    extension_named,
    installed_extensions,
    is_trusted,
    look_at,
)
from supervisor.install.manage import remove, switch
from supervisor.install.source import LocalSource
from tests.support.install_sources import Scope, contents, manifest_in, shelves, source


@pytest.fixture
def here(tmp_path):
    return shelves(tmp_path)


@pytest.fixture
def guard(here, tmp_path):
    return install(LocalSource(source(tmp_path / "made")), Scope.GLOBAL, here).now


def test_data_stays_after_a_removal(here, guard):
    data = here.home / "data" / "guard"
    data.mkdir(parents=True)
    (data / "todos.json").write_text("new")
    (guard.folder / "todos.json").write_text("old")
    (guard.folder / "sub").mkdir()
    (guard.folder / "sub" / "x").write_text("x")
    (guard.folder / "node_modules" / "y").mkdir(parents=True)
    (guard.folder / "node_modules" / "y" / "z.js").write_text("")
    done = remove(guard, here.home, [])
    assert done.data == data
    assert sorted(done.moved) == [data / "sub", data / "todos.json.kept"]
    assert (data / "todos.json").read_text() == "new"
    assert (data / "todos.json.kept").read_text() == "old"
    assert contents(guard.folder.parent) == []


def test_purge_deletes_data_unless_another_has_the_same(here, guard):
    data = here.home / "data" / "guard"
    data.mkdir(parents=True)
    (guard.folder / "todos.json").write_text("old")
    twin = look_at(source(guard.folder.parent / "twin"), Scope.GLOBAL)
    done = remove(guard, here.home, [twin], purge=True)
    assert (done.purged, done.moved, done.data) == (False, (), data)
    done = remove(twin, here.home, [], purge=True)
    assert (done.purged, done.data) == (True, None)
    assert contents(here.home / "data") == contents(guard.folder.parent) == []


def test_named_data_stays_where_there_is_no_record(here):
    folder = source(here.home / "extensions" / "byhand", name="byhand")
    (folder / "todos.json").write_text("1")
    (folder / "package.json").write_text("{}")
    done = remove(look_at(folder, Scope.GLOBAL), here.home, [])
    assert done.moved == (here.home / "data" / "byhand" / "todos.json",)
    assert contents(here.home / "data" / "byhand") == ["todos.json"]


def test_nothing_to_keep_leaves_no_folder(here, guard):
    done = remove(guard, here.home, [])
    assert (done.data, done.moved, done.purged) == (None, (), False)
    assert contents(here.home) == ["extensions"]


def test_a_removal_of_a_link_removes_only_the_link(here, tmp_path):
    made = source(tmp_path / "dev")
    (made / "todos.json").write_text("1")
    parent = here.home / "extensions"
    parent.mkdir(parents=True)
    (parent / "guard").symlink_to(made)
    (parent / "dangling").symlink_to("nowhere")
    for name in ("guard", "dangling"):
        remove(extension_named(name, installed_extensions(here)), here.home, [])
    assert contents(parent) == []
    assert contents(made) == ["extension.json", "run", "todos.json"]


def test_a_broken_extension_is_removed_by_its_folders_name(here):
    broken = here.home / "extensions" / "broken"
    source(broken)
    (broken / "extension.json").write_text("{")
    found = extension_named("broken", installed_extensions(here))
    assert "parse manifest" in found.trouble
    remove(found, here.home, [])
    assert contents(broken.parent) == []


def test_a_new_extension_in_the_place_of_a_removed_one_is_not_trusted(here, tmp_path):
    extension = install(LocalSource(source(tmp_path / "made")), Scope.PROJECT, here).now
    assert is_trusted(extension, here.home)
    remove(extension, here.home, [])
    source(extension.folder)
    assert not is_trusted(extension, here.home)


def test_removed_meanwhile(here, guard):
    remove(guard, here.home, [])
    with pytest.raises(InstallError, match="removed by another command meanwhile"):
        remove(guard, here.home, [])


def test_data_on_another_file_system_is_copied(here, guard, monkeypatch):
    (guard.folder / "todos.json").write_text("old")
    rename = os.rename

    def other_disk(source, target):
        if str(target).endswith("todos.json"):
            raise OSError(18, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "rename", other_disk)
    (moved,) = remove(guard, here.home, []).moved
    assert moved.read_text() == "old"


def test_a_folder_that_cannot_be_renamed_is_deleted_where_it_is(here, guard, monkeypatch):
    """A folder of a lower layer of an overlay file system cannot be renamed."""

    def lower_layer(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "rename", lower_layer)
    remove(guard, here.home, [])
    assert contents(guard.folder.parent) == []


# --- enable and disable ---------------------------------------------------------------------------------------


def test_switching_changes_one_field(here, guard):
    path = guard.folder / "extension.json"
    path.write_text('{"zeta": [1, {"b": 2.0, "a": "é"}], "name": "guard", "exec": "./run"}')
    path.chmod(0o640)
    assert switch(guard, here.home, on=True) is False
    assert switch(guard, here.home, on=False) is True
    assert switch(guard, here.home, on=False) is False
    text = path.read_text()
    assert list(json.loads(text).items())[:2] == [("zeta", [1, {"b": 2.0, "a": "é"}]), ("name", "guard")]
    assert text.startswith('{\n  "zeta": [\n    1,')
    assert text.endswith(',\n  "enabled": false\n}\n')
    assert "é" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert switch(guard, here.home, on=True) is True
    assert manifest_in(guard.folder)["enabled"] is True
    assert sorted(os.listdir(guard.folder)) == [".zot-install.json", "extension.json", "run"]


def test_the_leftovers_of_a_killed_writer_do_no_harm(here, guard):
    (guard.folder / ".extension.json.new").write_text("{half")
    assert switch(guard, here.home, on=False)
    assert sorted(os.listdir(guard.folder)) == [".zot-install.json", "extension.json", "run"]


def test_a_write_that_fails_changes_nothing(here, guard, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = (guard.folder / "extension.json").read_text()
    monkeypatch.setattr(safe_files, "sync", full)
    with pytest.raises(InstallError, match="cannot be disabled: No space left"):
        switch(guard, here.home, on=False)
    assert (guard.folder / "extension.json").read_text() == before
    assert sorted(os.listdir(guard.folder)) == [".zot-install.json", "extension.json", "run"]


@pytest.mark.parametrize("text", ["{", "[]", "\xff", "[" * 3000, ""])
def test_a_manifest_that_cannot_be_switched(here, guard, text):
    (guard.folder / "extension.json").write_text(text, encoding="latin-1")
    with pytest.raises(InstallError, match="correct it first"):
        switch(guard, here.home, on=False)


def test_switching_what_is_linked_writes_to_what_it_leads_to(here, tmp_path):
    made = source(tmp_path / "dev")
    parent = here.home / "extensions"
    parent.mkdir(parents=True)
    (parent / "guard").symlink_to(made)
    assert switch(extension_named("guard", installed_extensions(here)), here.home, on=False)
    assert manifest_in(made)["enabled"] is False
    assert (parent / "guard").is_symlink()


# --- names ----------------------------------------------------------------------------------------------------


def test_a_name_means_the_extension_or_its_folder(here):
    for scope, folder, name in (
        (Scope.GLOBAL, "dev", "guard"), (Scope.GLOBAL, "todo", "todo"), (Scope.PROJECT, "todo", "todo"),
        (Scope.GLOBAL, "a", "same"), (Scope.GLOBAL, "same", "same"), (Scope.GLOBAL, "x", "y"), (Scope.GLOBAL, "y", "z"),
    ):  # fmt: skip
        source(here.parent(scope) / folder, name=name)
    everything = installed_extensions(here)
    assert [extension.scope for extension in everything[:2]] == [Scope.PROJECT, Scope.GLOBAL]
    assert extension_named("guard", everything).folder.name == extension_named("dev", everything).folder.name == "dev"
    assert extension_named("same", everything).folder.name == "same"
    assert extension_named("a", everything).folder.name == "a"
    assert extension_named("y", everything).folder.name == "x", "the manifest's name goes before the folder's"
    with pytest.raises(MisuseError, match=r"more than once: .*project\), .*user\); add --project or --global"):
        extension_named("todo", everything)
    assert extension_named("todo", installed_extensions(here, [Scope.PROJECT])).scope is Scope.PROJECT
    with pytest.raises(MisuseError, match="did you mean 'guard'"):
        extension_named("gaurd", everything)
    with pytest.raises(MisuseError, match=r"^no such extension: 'x'; there is none installed$"):
        extension_named("x", [])


def test_two_extensions_of_one_name_are_told_apart_by_their_folders(here):
    for folder in ("a", "b"):
        source(here.home / "extensions" / folder)
    with pytest.raises(MisuseError, match="name it by its folder"):
        extension_named("guard", installed_extensions(here))
    assert extension_named("b", installed_extensions(here)).folder.name == "b"


def test_a_project_that_is_the_home_has_each_once(tmp_path):
    both = ExtensionFolders(tmp_path, tmp_path / ".zot")
    source(tmp_path / ".zot" / "extensions" / "guard")
    assert [extension.scope for extension in installed_extensions(both)] == [Scope.GLOBAL]
    assert len(installed_extensions(both, [Scope.PROJECT])) == 1
