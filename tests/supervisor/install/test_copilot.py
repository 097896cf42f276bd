"""Copilot extensions are installed, switched and removed like others; they are trusted as they were installed."""

from __future__ import annotations

import json

import pytest

from supervisor.discovery.found_extension import Scope
from supervisor.discovery.kind import ExtensionKind
from supervisor.home.config import Config
from supervisor.install.errors import InstallError
from supervisor.install.install import install, link
from supervisor.install.installed_extension import extension_named, installed_extensions, is_trusted, look_at
from supervisor.install.manage import remove, switch
from supervisor.install.source import LocalSource
from supervisor.install.update import UpdateAction, update
from tests.support.copilot_folders import copilot_extension, fake_sdk, put_on_path
from tests.support.install_sources import shelves


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    put_on_path(tmp_path / "bin", monkeypatch)
    made = shelves(tmp_path)
    (made.project / ".git").mkdir(parents=True, exist_ok=True)
    return made


def test_all_places_are_listed_with_what_is_wrong(here, tmp_path):
    of_project = here.project / ".github" / "extensions"
    copilot_extension(of_project, "one")
    copilot_extension(of_project, "empty", "")
    (of_project / "lib").mkdir()
    (of_project / "gone").symlink_to("nowhere")
    copilot_extension(here.home / "copilot-extensions", "two")
    copilot_extension(tmp_path / "copilot" / "extensions", "three")
    listed = installed_extensions(here)
    assert [(each.name, each.scope, bool(each.trouble), each.kind is ExtensionKind.COPILOT) for each in listed] == [
        ("empty", Scope.PROJECT, True, True),
        ("gone", Scope.PROJECT, True, True),
        ("one", Scope.PROJECT, False, True),
        ("two", Scope.GLOBAL, False, True),
        ("three", Scope.GLOBAL, False, True),
    ]
    assert all(each.needs_trust for each in listed if each.found)


@pytest.mark.parametrize("scope", [Scope.PROJECT, Scope.GLOBAL])
def test_one_is_installed_and_trusted_as_it_is(here, tmp_path, scope):
    source = copilot_extension(tmp_path / "made", "notes")
    result = install(LocalSource(source), scope, here)
    assert (result.now.name, result.now.kind is ExtensionKind.COPILOT, result.is_trusted) == ("notes", True, True)
    assert result.warnings == ("it needs @github/copilot-sdk, which is not installed: zot ext install-sdk copilot",)
    assert result.now.folder == here.parent(scope) / "notes"
    assert is_trusted(result.now, here.home)
    (result.now.folder / "extension.mjs").write_text("other")
    assert not is_trusted(look_at(result.now.folder, scope), here.home)


def test_one_with_all_that_it_needs_has_no_warning(here, tmp_path):
    fake_sdk(here.home / "copilot-sdk")
    assert install(LocalSource(copilot_extension(tmp_path / "made", "notes")), Scope.GLOBAL, here).warnings == ()


def test_a_link_to_one_is_trusted(here, tmp_path):
    source = copilot_extension(tmp_path / "made", "notes")
    result = link(LocalSource(source), Scope.GLOBAL, here)
    assert (result.now.name, result.is_trusted) == ("notes", True)
    assert is_trusted(result.now, here.home)


def test_an_update_keeps_its_name_and_its_trust(here, tmp_path):
    source = copilot_extension(tmp_path / "made", "notes")
    now = install(LocalSource(source), Scope.GLOBAL, here).now
    (source / "extension.mjs").write_text("newer")
    done = update(now, here, Config())
    assert done.action is not UpdateAction.NOTHING
    assert (done.now.folder / "extension.mjs").read_text() == "newer"
    assert is_trusted(done.now, here.home)


def test_a_faulty_one_is_not_installed(here, tmp_path):
    source = copilot_extension(tmp_path / "made", "notes", priority="high")
    with pytest.raises(InstallError, match="manifest: priority"):
        install(LocalSource(source), Scope.GLOBAL, here)
    assert installed_extensions(here) == []


def test_a_folder_of_several_names_them(here, tmp_path):
    copilot_extension(tmp_path / "made", "notes")
    with pytest.raises(InstallError, match="but in notes: install one of those"):
        install(LocalSource(tmp_path / "made"), Scope.GLOBAL, here)


def test_one_without_a_manifest_gets_one_to_be_switched_off(here):
    folder = copilot_extension(here.home / "copilot-extensions", "notes")
    there = look_at(folder, Scope.GLOBAL)
    assert not switch(there, here.home, on=True)
    assert not (folder / "extension.json").exists()
    assert switch(there, here.home, on=False)
    assert json.loads((folder / "extension.json").read_text()) == {"enabled": False}
    off = extension_named("notes", installed_extensions(here))
    assert off.manifest is not None
    assert not off.manifest.is_enabled
    assert switch(off, here.home, on=True)


def test_a_switch_keeps_trust(here, tmp_path):
    now = install(LocalSource(copilot_extension(tmp_path / "made", "notes")), Scope.PROJECT, here).now
    switch(now, here.home, on=False)
    assert is_trusted(look_at(now.folder, now.scope), here.home)


def test_a_removed_one_is_not_trusted_when_it_comes_back(here, tmp_path):
    now = install(LocalSource(copilot_extension(tmp_path / "made", "notes")), Scope.GLOBAL, here).now
    remove(now, here.home, [])
    assert installed_extensions(here) == []
    again = copilot_extension(now.folder.parent, "notes")
    assert not is_trusted(look_at(again, Scope.GLOBAL), here.home)
