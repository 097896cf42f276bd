"""`zot ext install --link`: the author's folder runs, and no command harms it."""

from __future__ import annotations

import os

import pytest

from supervisor.home.config import Config
from supervisor.install.errors import ConflictError, InstallError, MisuseError
from supervisor.install.install import install, link
from supervisor.install.installed_extension import installed_extensions, is_trusted
from supervisor.install.manage import remove, switch
from supervisor.install.source import LocalSource
from supervisor.install.update import update
from tests.support.install_sources import Scope, contents, shelves, source


@pytest.fixture
def here(tmp_path):
    return shelves(tmp_path)


@pytest.fixture
def made(tmp_path):
    return source(tmp_path / "any-name")


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.PROJECT])
def test_a_link_in_either_scope(here, made, scope):
    done = link(LocalSource(made), scope, here)
    folder = here.parent(scope) / "guard"
    assert (done.now.folder, os.readlink(folder)) == (folder, str(made))
    assert (done.now.name, done.now.record, done.now.target) == ("guard", None, str(made))
    assert (done.before, done.warnings, done.is_trusted) == (None, (), True)
    assert contents(folder.parent) == ["guard"]
    assert sorted(os.listdir(made)) == ["extension.json", "run"]
    if scope is Scope.PROJECT:
        assert is_trusted(done.now, here.home)
        (made / "run").write_text("changed")
        assert not is_trusted(done.now, here.home)


def test_a_removal_leaves_the_source_and_its_data(here, made):
    (made / "todos.json").write_text("[]")
    done = link(LocalSource(made), Scope.GLOBAL, here)
    removed = remove(done.now, here.home, [], purge=True)
    assert (removed.moved, contents(here.home / "extensions")) == ((), [])
    assert sorted(os.listdir(made)) == ["extension.json", "run", "todos.json"]


def test_a_broken_link_is_listed_and_removed(here, made):
    link(LocalSource(made), Scope.GLOBAL, here)
    made.rename(made.with_name("elsewhere"))
    (found,) = installed_extensions(here)
    assert found.name == "guard"
    assert found.trouble.startswith(f"is a link to {made}, which does not exist")
    for refused in (lambda: update(found, here, Config()), lambda: switch(found, here.home, on=False)):
        with pytest.raises(InstallError, match="which does not exist; put the folder back"):
            refused()
    remove(found, here.home, [])
    assert installed_extensions(here) == []


def test_an_update_says_that_there_is_nothing_to_fetch(here, made):
    copy = install(LocalSource(made), Scope.PROJECT, here).now
    done = link(LocalSource(copy.folder), Scope.GLOBAL, here)  # the record there is not about the link
    with pytest.raises(MisuseError, match=r"'guard' is a link to .*: what runs is that folder.*zot ext reload guard"):
        update(done.now, here, Config())


def test_what_is_in_the_way(here, made, tmp_path):
    link(LocalSource(made), Scope.GLOBAL, here)
    with pytest.raises(ConflictError, match=r"is a link to .* already"):
        link(LocalSource(made), Scope.GLOBAL, here, force=True)
    with pytest.raises(ConflictError, match=r"is installed already, by a link to it; an edit needs no update"):
        install(LocalSource(made), Scope.GLOBAL, here)
    other = source(tmp_path / "other", version="2")
    with pytest.raises(ConflictError, match=r"is a link to .*zot ext remove guard first, or --force"):
        link(LocalSource(other), Scope.GLOBAL, here)
    with pytest.raises(ConflictError, match=r"is a link to .*zot ext remove guard first$"):
        install(LocalSource(other), Scope.GLOBAL, here, force=True)
    done = link(LocalSource(other), Scope.GLOBAL, here, force=True)
    assert (done.now.target, contents(here.home / "extensions")) == (str(other), ["guard"])
    assert (made / "run").exists()
    with pytest.raises(ConflictError, match=r"is installed already, there"):
        link(LocalSource(source(here.home / "extensions" / "x", name="x")), Scope.GLOBAL, here)
    (made / "extension.json").write_text("{")
    with pytest.raises(InstallError, match=r"parse manifest"):
        link(LocalSource(made), Scope.PROJECT, here)
    assert not (here.project / ".zot").exists()


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_link_in_place_of_a_copy_keeps_the_data(here, made, monkeypatch, in_one_step):
    if not in_one_step:
        monkeypatch.setattr("supervisor.install.staging_folder._exchange", lambda *_: False)
    copy = install(LocalSource(made), Scope.GLOBAL, here).now
    (copy.folder / "todos.json").write_text("[]")
    with pytest.raises(ConflictError, match=r"'guard' is installed already"):
        link(LocalSource(made), Scope.GLOBAL, here)
    done = link(LocalSource(made), Scope.GLOBAL, here, force=True)
    assert done.now.target == str(made)
    kept = here.home / "data" / "guard" / "todos.json"
    assert done.warnings == (f"moved out of what was there: {kept}",)
    assert kept.read_text() == "[]"
    assert contents(here.home / "extensions") == ["guard"]
    assert sorted(os.listdir(made)) == ["extension.json", "run"]
