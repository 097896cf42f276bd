"""An update comes from the same source, never against the user's will, and is never half done."""

from __future__ import annotations

import dataclasses
import json
import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.steps import Allowance
from supervisor.home.config import Config
from supervisor.install import staging_folder, tree
from supervisor.install.errors import InstallError, MisuseError, NeedsConsentError
from supervisor.install.install import install
from supervisor.install.installed_extension import installed_extensions, is_trusted, look_at
from supervisor.install.manage import switch
from supervisor.install.record import newer_source, write_record
from supervisor.install.source import GitSource, LocalSource
from supervisor.install.update import UpdateAction, new_environment_parts, update
from tests.support.install_sources import Scope, commit, contents, manifest_in, repository, shelves, source
from wire.manifest import Manifest

CONFIG = Config()


@pytest.fixture
def here(tmp_path):
    return shelves(tmp_path)


@pytest.fixture
def made(tmp_path):
    return source(tmp_path / "made")


@pytest.fixture
def guard(here, made):
    return install(LocalSource(made), Scope.GLOBAL, here).now


def test_nothing_new(here, made, guard):
    (made / "__pycache__").mkdir()
    (made / "__pycache__" / "x").write_text("")
    done = update(guard, here, CONFIG)
    assert (done.action, done.now, done.has_local_changes) == (UpdateAction.NOTHING, guard, False)


def test_data_that_came_with_the_extension_is_the_user_s(here, made, guard):
    (made / "extension.json").write_text(json.dumps({**manifest_in(made), "data": ["todos.json", "*.log"]}))
    (made / "todos.json").write_text("[]")
    guard = update(guard, here, CONFIG).now
    (guard.folder / "todos.json").write_text("[1]")
    (guard.folder / "run.log").write_text("1")
    done = update(guard, here, CONFIG)
    assert (done.action, done.has_local_changes) == (UpdateAction.NOTHING, False)
    (made / "todos.json").write_text("[2]")
    assert update(guard, here, CONFIG).action is UpdateAction.NOTHING
    assert newer_source(guard.folder, Allowance()) is None
    source(made, program="#!/bin/sh\nexit 1\n", version="1.1", data=["todos.json", "*.log"])
    done = update(guard, here, CONFIG)
    assert (done.action, done.warnings) == (UpdateAction.REPLACE, ())
    assert [(guard.folder / name).read_text() for name in ("todos.json", "run.log")] == ["[1]", "1"]


def test_state_in_a_file_that_only_the_new_version_calls_data_is_not_thrown_away(here, made, guard):
    (made / "todos.json").write_text("[]")
    (made / "rules.json").write_text("1")
    (made / "gone.json").write_text("")
    guard = update(guard, here, CONFIG).now
    (guard.folder / "todos.json").write_text("[1]")
    (guard.folder / "gone.json").unlink()
    (guard.folder / "rules.json").write_text("mine")
    source(made, version="1.1", data=["todos.json", "gone.json"])
    with pytest.raises(InstallError, match="was changed since it was installed"):
        update(guard, here, CONFIG)
    done = update(guard, here, CONFIG, force=True)
    assert [(guard.folder / name).read_text() for name in ("todos.json", "rules.json")] == ["[1]", "1"]
    assert done.warnings == ()
    assert update(done.now, here, CONFIG).action is UpdateAction.NOTHING


def test_a_new_version(here, made, guard):
    (guard.folder / "notes.json").write_text("[]")
    source(made, version="1.1", program="#!/bin/sh\nexit 1\n")
    (made / "new").write_text("")
    done = update(guard, here, CONFIG)
    assert done.action is UpdateAction.REPLACE
    assert done.now.manifest is not None
    assert done.now.manifest.version == "1.1"
    assert sorted(os.listdir(guard.folder)) == [".zot-install.json", "extension.json", "new", "notes.json", "run"]
    (made / "new").unlink()
    assert update(done.now, here, CONFIG).action is UpdateAction.REPLACE
    assert not (guard.folder / "new").exists()
    assert (guard.folder / "notes.json").exists()
    assert contents(guard.folder.parent) == ["guard"]


def test_a_repository(here, tmp_path):
    made = repository(tmp_path / "repo")
    extension = install(GitSource(f"file://{made}", "main"), Scope.GLOBAL, here).now
    assert update(extension, here, CONFIG).action is UpdateAction.NOTHING
    source(made, version="2.0")
    new = commit(made)
    done = update(extension, here, CONFIG)
    assert done.now.record is not None
    assert (done.action, done.now.record.commit, done.now.record.version) == (UpdateAction.REPLACE, new, "2.0")


def test_disabled_stays_disabled_and_is_no_local_change(here, made, guard):
    assert switch(guard, here.home, on=False)
    guard = look_at(guard.folder, guard.scope)
    done = update(guard, here, CONFIG)
    assert (done.action, done.has_local_changes) == (UpdateAction.NOTHING, False)
    source(made, version="1.1")
    guard = update(guard, here, CONFIG).now
    assert manifest_in(guard.folder)["enabled"] is False
    assert update(guard, here, CONFIG).action is UpdateAction.NOTHING


def test_local_changes_are_not_thrown_away_unasked(here, made, guard):
    (guard.folder / "run").write_text("mine")
    os.utime(guard.folder / "run")
    done = update(guard, here, CONFIG)
    assert (done.action, done.has_local_changes) == (UpdateAction.NOTHING, True)
    source(made, version="1.1")
    with pytest.raises(InstallError, match=r"'guard' was changed since it was installed: .*; --force throws"):
        update(guard, here, CONFIG)
    assert (guard.folder / "run").read_text() == "mine"
    assert update(guard, here, CONFIG, force=True).action is UpdateAction.REPLACE
    assert (guard.folder / "run").read_text() == "#!/bin/sh\n"


def test_a_file_that_is_gone_is_a_local_change_and_force_brings_it_back(here, made, guard):
    (guard.folder / "run").unlink()
    assert update(guard, here, CONFIG).has_local_changes
    source(made, version="1.1")
    with pytest.raises(InstallError, match=r"run \(gone\)"):
        update(guard, here, CONFIG)
    assert update(guard, here, CONFIG, force=True).action is UpdateAction.REPLACE
    assert (guard.folder / "run").exists()


def test_more_of_the_environment_needs_consent(here, made, guard):
    source(made, env=["SOME_KEY"])
    asked = []

    def consent(which, asks, answer):
        asked.append((which.name, asks))
        return answer

    with pytest.raises(NeedsConsentError, match=r"'guard' now asks for SOME_KEY, .*--yes agrees"):
        update(guard, here, CONFIG, consent=lambda which, asks: consent(which, asks, False))
    assert look_at(guard.folder, guard.scope) == guard
    done = update(guard, here, CONFIG, consent=lambda which, asks: consent(which, asks, True))
    assert done.action is UpdateAction.REPLACE
    assert asked == [("guard", ("SOME_KEY",))] * 2
    source(made, env=[], version="3")
    assert update(done.now, here, CONFIG).action is UpdateAction.REPLACE, "less needs none"


VARIABLES = st.lists(st.sampled_from(["A_KEY", "B_KEY", "ANTHROPIC_API_KEY", "PATH"]), max_size=4)
POLICIES = st.sampled_from([None, "inherit", "minimal"])


@given(VARIABLES, POLICIES, VARIABLES, POLICIES)
def test_what_is_asked_for_anew(old_env, old_policy, new_env, new_policy):
    old = Manifest("x", "x", env=tuple(old_env), env_policy=old_policy)
    new = Manifest("x", "x", env=tuple(new_env), env_policy=new_policy)
    asks = new_environment_parts(old, new, CONFIG)
    assert len(set(asks)) == len(asks)
    assert set(new_env) - set(old_env) <= set(asks)
    assert not set(asks) & set(old_env)
    assert new_environment_parts(new, new, CONFIG) == ()
    assert ("env_policy: inherit" in asks) == (old_policy == "minimal" and new_policy != "minimal")


def test_trust_goes_with_the_update_but_is_not_made_by_it(here, made):
    extension = install(LocalSource(made), Scope.PROJECT, here).now
    source(made, version="1.1")
    extension = update(extension, here, CONFIG).now
    assert is_trusted(extension, here.home)
    assert switch(extension, here.home, on=False)
    assert is_trusted(look_at(extension.folder, extension.scope), here.home)
    (here.home / "trust.json").unlink()
    source(made, version="1.2")
    extension = update(look_at(extension.folder, extension.scope), here, CONFIG).now
    assert not is_trusted(extension, here.home)


def test_what_another_put_in_the_record_of_a_projects_extension_is_not_trusted(here, made, tmp_path):
    """A commit changes only the record: the source is another one."""
    extension = install(LocalSource(made), Scope.PROJECT, here).now
    assert extension.record is not None
    elsewhere = source(tmp_path / "elsewhere", program="#!/bin/sh\nevil\n")
    write_record(extension.folder, msgspec.structs.replace(extension.record, source=str(elsewhere)))
    extension = look_at(extension.folder, extension.scope)
    assert not is_trusted(extension, here.home)
    done = update(extension, here, CONFIG)
    assert (done.action, is_trusted(done.now, here.home)) == (UpdateAction.REPLACE, False)


def test_what_cannot_be_updated(here, tmp_path, made, guard):
    source(made, name="other")
    with pytest.raises(InstallError, match=r"its source .* is now the extension 'other'"):
        update(guard, here, CONFIG)
    (made / "extension.json").write_text("{")
    with pytest.raises(InstallError, match="parse manifest"):
        update(guard, here, CONFIG)
    made.rename(tmp_path / "moved")
    with pytest.raises(InstallError, match=r"is gone; .*zot ext install --force PATH"):
        update(guard, here, CONFIG)
    by_hand = look_at(source(guard.folder.parent / "by-hand", name="by-hand"), Scope.GLOBAL)
    with pytest.raises(MisuseError, match="was not installed by zot ext install"):
        update(by_hand, here, CONFIG)
    (guard.folder.parent / "link").symlink_to(guard.folder)
    with pytest.raises(MisuseError, match="is a link to"):
        update(look_at(guard.folder.parent / "link", Scope.GLOBAL), here, CONFIG)
    (guard.folder / ".zot-install.json").write_text('{"source": 3}')
    with pytest.raises(InstallError, match=r"source.*; install it again, with --force"):
        update(look_at(guard.folder, Scope.GLOBAL), here, CONFIG)
    assert contents(guard.folder.parent) == ["by-hand", "guard", "link"]


def test_another_command_meanwhile(here, made, guard):
    source(made, version="1.1", env=["A_KEY"])
    with pytest.raises(InstallError, match="changed by another command meanwhile"):
        update(guard, here, CONFIG, consent=lambda *_: switch(guard, here.home, on=False))
    assert manifest_in(guard.folder)["version"] == "1.0"


# --- the swap -------------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.fixture
def two(tmp_path):
    """An extension, and a stage with its new version."""
    parent = tmp_path / "extensions"
    source(parent / "guard")
    with staging_folder.lock_folder(parent):
        stage = staging_folder.StagingFolder(parent, "guard")
    source(stage.tree, version="2.0")
    return parent / "guard", stage


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_swap(two, in_one_step):
    target, stage = two
    with stage:
        staging_folder.swap(stage.tree, target, in_one_step=in_one_step)
    assert manifest_in(target)["version"] == "2.0"
    assert contents(target.parent) == ["guard"]


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_killed_within_a_swap_of_two_steps(two, monkeypatch, renames):
    """After kill -9 the next command tidies up, and one whole version is there."""
    target, stage = two
    rename, done = os.rename, []

    def dies(*args):
        if len(done) == renames:
            raise Killed
        done.append(args)
        rename(*args)

    monkeypatch.setattr(os, "rename", dies)
    monkeypatch.setattr(staging_folder, "delete", lambda _folder: None)
    with pytest.raises(Killed):
        staging_folder.swap(stage.tree, target, in_one_step=False)
    monkeypatch.undo()
    os.close(stage._fd)
    staging_folder.sweep(target.parent)
    assert contents(target.parent) == ["guard"]
    assert manifest_in(target)["version"] == ("1.0" if renames < 2 else "2.0")
    assert (target / "run").exists()


def test_a_second_rename_that_fails_is_undone(two, monkeypatch):
    target, stage = two
    rename, calls = os.rename, []

    def fails_once(*args):
        calls.append(args)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        rename(*args)

    monkeypatch.setattr(os, "rename", fails_once)
    with stage, pytest.raises(OSError, match="Input/output"):
        staging_folder.swap(stage.tree, target, in_one_step=False)
    assert manifest_in(target)["version"] == "1.0"
    assert contents(target.parent) == ["guard"]


def test_only_staging_folders_without_a_lock_are_swept(two):
    target, stage = two
    (target.parent / ".x.0123abcd.gone" / "tree").mkdir(parents=True)
    (target.parent / ".mine").mkdir()
    staging_folder.sweep(target.parent)
    assert contents(target.parent) == sorted([stage.folder.name, ".mine", "guard"])
    with stage:
        assert stage.folder.exists()
    assert contents(target.parent) == [".mine", "guard"]


def test_folders_that_deny_it_are_deleted_all_the_same(tmp_path):
    closed = tmp_path / "a" / "b"
    closed.mkdir(parents=True)
    (closed / "x").write_text("")
    closed.chmod(0o500)
    closed.parent.chmod(0o500)
    staging_folder.delete(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_lock_is_not_waited_for_without_end(tmp_path):
    clock = iter(range(100))
    with (
        staging_folder.lock_folder(tmp_path),
        pytest.raises(InstallError, match=r"another zot ext is changing .*; try again"),
        staging_folder.lock_folder(tmp_path, patience_s=3.0, clock=lambda: next(clock)),
    ):
        pass
    with staging_folder.lock_folder(tmp_path, patience_s=0.0):
        pass


def test_what_is_staged_is_not_taken_for_an_extension(here, guard):
    with staging_folder.StagingFolder(guard.folder.parent, "guard") as stage:
        source(stage.tree)
        assert [which.folder for which in installed_extensions(here)] == [guard.folder]


def test_the_hash_is_of_what_an_extension_is(tmp_path):
    made = source(tmp_path / "made")
    files = tree.files(made)
    first = tree.content_hash(made, files)
    assert first == tree.content_hash(source(tmp_path / "again"), files)
    (made / "data.json").write_text("1")
    os.utime(made / "run", (1, 1))
    assert tree.content_hash(made, files) == first
    (made / "run").chmod(0o644)
    without_exec = tree.content_hash(made, files)
    (made / "run").write_text("other")
    assert len({first, without_exec, tree.content_hash(made, files), tree.content_hash(made, files[:1])}) == 4


def test_a_record_of_another_version_is_read(guard):
    path = guard.folder / ".zot-install.json"
    path.write_text(path.read_text().replace("{", '{"later": 1,', 1))
    assert dataclasses.replace(look_at(guard.folder, guard.scope)).record == guard.record
