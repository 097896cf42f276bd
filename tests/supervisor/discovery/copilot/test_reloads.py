"""Copilot extensions in reloads: read again as they are, judged again, and watched."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import McpFiles, discover, read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.steps import finish
from supervisor.discovery.trust_store import TrustStore
from supervisor.loop.loop import Loop
from supervisor.reload.file_watcher import FileWatcher
from supervisor.reload.plan import Keep, KnownExtension, Replace, plan_one
from supervisor.reload.watch_mode import parents_of
from tests.support.copilot_folders import copilot_extension
from tests.support.patience import PATIENCE_S
from wire.manifest import parse_manifest

pytestmark = pytest.mark.usefixtures("no_node")


@pytest.fixture
def folder(project):
    return copilot_extension(project / ".github" / "extensions", "notes")


@pytest.fixture
def found(project, home, folder):
    return discover((), project, home, None, McpFiles(project), home).found[0]


def test_a_new_version_is_started_as_the_old_one(found, folder):
    (folder / "extension.json").write_text('{"priority": 3}')
    plan = plan_one(KnownExtension(found), read_manifest(folder))
    assert isinstance(plan, Replace)
    assert plan.found.manifest.priority == 3
    assert (plan.found.argv, plan.found.set_env, plan.found.runs_in) == (found.argv, found.set_env, found.runs_in)


def test_an_extension_that_becomes_another_kind_needs_a_new_start(found, tmp_path):
    other = parse_manifest(b'{"name": "notes", "exec": "true"}')
    plan = plan_one(KnownExtension(found), other)
    assert isinstance(plan, Keep)
    assert "needs a new start" in plan.reason
    plain = FoundExtension(tmp_path, other, Scope.GLOBAL)
    assert isinstance(plan_one(KnownExtension(plain), found.manifest), Keep)


@pytest.mark.parametrize("scope", [Scope.PROJECT, Scope.GLOBAL])
def test_a_new_version_must_be_trusted_as_it_is(found, home, folder, scope):
    found = replace(found, scope=scope)
    admission = Admission(home, Consent())
    assert "not trusted (never seen)" in str(finish(admission.may_run(found, found.manifest)))
    TrustStore(home).trust(folder, found.manifest)
    assert isinstance(finish(admission.may_run(found, found.manifest)), FoundExtension)
    (folder / "extension.mjs").write_text("other")
    assert "its files have changed" in str(finish(admission.may_run(found, found.manifest)))


def test_consent_to_a_project_is_none_to_what_the_user_has(found, home):
    admission = Admission(home, Consent(whole_project=True))
    assert isinstance(finish(admission.may_run(found, found.manifest)), FoundExtension)
    mine = replace(found, scope=Scope.GLOBAL)
    assert isinstance(finish(admission.may_run(mine, found.manifest)), str)
    once = Admission(home, Consent(folders=frozenset({mine.place})))
    assert isinstance(finish(once.may_run(mine, found.manifest)), FoundExtension)


def test_their_folders_are_watched(project, home, cli_home):
    assert parents_of(project, home) == (
        project / ".zot" / "extensions",
        home / "extensions",
        project / ".github" / "extensions",
        home / "copilot-extensions",
        cli_home / "extensions",
    )


def test_an_extension_without_a_manifest_that_appears_is_seen(project, home):
    seen: list[str] = []
    loop = Loop()
    try:
        watcher = FileWatcher(
            loop, folders=dict, on_change=lambda *_: None, parents=parents_of(project, home),
            on_folders=lambda: seen.append("changed"), say=lambda *_: None,
        )  # fmt: skip
        watcher.start()
        copilot_extension(project / ".github" / "extensions", "new")
        loop.run_until(lambda: bool(seen), loop.clock() + PATIENCE_S)
        watcher.stop()
    finally:
        loop.close()
    assert seen == ["changed"]
