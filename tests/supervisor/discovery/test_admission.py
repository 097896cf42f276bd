"""Extensions of a project are started once they are trusted; a new version is held to the rules of its scope."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from supervisor.discovery.admission import Admission, Consent, content_mark
from supervisor.discovery.discover import discover, read_manifest
from supervisor.discovery.found_extension import FoundExtension, ProjectCopy, Scope
from supervisor.discovery.skipped_extension import SkipCause, SkipReason
from supervisor.discovery.steps import Allowance, finish, no_steps
from supervisor.home.config import Config
from tests.support.copilot_folders import copilot_extension
from tests.support.project_extension import append, found, manifest, written

if TYPE_CHECKING:
    from pathlib import Path

    from wire.manifest import Manifest


def admitted(admission: Admission, there: FoundExtension) -> FoundExtension | str:
    judged = finish(admission.for_one_start()(there))
    return judged.what if isinstance(judged, SkipReason) else judged


def verdict(admission: Admission, there: FoundExtension, old: Manifest) -> str | None:
    """Why the new version may not run; None if it may."""
    judged = finish(admission.may_run(there, old))
    return judged if isinstance(judged, str) else None


def test_an_extension_of_a_project_needs_consent(folder, tmp_path):
    home = tmp_path / "home"
    there = found(folder)
    assert admitted(Admission(home, Consent()), there) == "never seen"
    assert admitted(Admission(home, Consent(whole_project=True)), there) is there
    assert admitted(Admission(home, Consent(folders=frozenset({folder}))), there) is there


def test_what_cannot_be_trusted_is_not_read(folder, store, tmp_path):
    admission = Admission(tmp_path / "home", Consent())
    store.trust(folder, manifest())
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**40)
    assert "more than 512 MB" in str(admitted(admission, found(folder)))
    assert admitted(admission, found(folder, env=("A",))) == "it now asks for A"
    store.revoke(folder)
    assert admitted(admission, found(folder)) == "never seen"
    assert "more than 512 MB" in store.examine(folder, manifest()).reason


def test_all_extensions_of_a_start_share_one_allowance(folder, store, tmp_path, monkeypatch):
    store.trust(folder, manifest())
    monkeypatch.setattr("supervisor.discovery.admission.Allowance", lambda: Allowance(files=10))
    admit = Admission(tmp_path / "home", Consent()).for_one_start()
    assert isinstance(finish(admit(found(folder))), FoundExtension)
    assert "more than 10 files" in str(finish(admit(found(folder))))


def test_an_admitted_version_is_not_hashed_again_and_one_with_another_manifest_is(folder, store, tmp_path):
    admission = Admission(tmp_path / "home", Consent())
    store.trust(folder, manifest())
    there = admitted(admission, found(folder))
    assert isinstance(there, FoundExtension)
    assert there.is_hashed
    assert finish(admission.may_run(there, manifest())) is there
    changed = replace(there, manifest=written(folder, args=("-x",)))
    assert not changed.is_hashed
    assert verdict(admission, changed, manifest()) == "not trusted (its files have changed)"


def test_a_new_version_in_a_project_must_be_trusted_as_it_is(folder, store, tmp_path):
    admission = Admission(tmp_path / "home", Consent())
    store.trust(folder, manifest())
    assert verdict(admission, found(folder), manifest()) is None
    append(folder / "run.sh")
    assert verdict(admission, found(folder), manifest()) == "not trusted (its files have changed)"
    store.trust(folder, manifest())
    assert verdict(admission, found(folder), manifest()) is None


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.EXPLICIT])
def test_a_new_version_elsewhere_needs_trust_only_for_more_environment(folder, store, tmp_path, scope):
    admission = Admission(tmp_path / "home", Consent(), Config(secrets=("AWS_*",)))
    append(folder / "run.sh")
    assert verdict(admission, found(folder, scope), manifest()) is None
    asks = found(folder, scope, env=("AWS_KEY",))
    assert verdict(admission, asks, manifest()) == f"it now asks for AWS_KEY, in {folder}"
    assert verdict(admission, asks, asks.manifest) is None
    store.trust(folder, asks.manifest)
    assert verdict(admission, asks, manifest()) is None


def test_an_untrusted_extension_is_skipped_and_hides_no_other(folder, tmp_path):
    home = tmp_path / "home"
    (home / "extensions" / "guard").mkdir(parents=True)
    (home / "extensions" / "guard" / "extension.json").write_text('{"name": "guard", "exec": "x"}')
    discovery = discover(
        (), folder.parents[2], home, lambda _: no_steps(SkipReason("never seen", SkipCause.NEVER_SEEN))
    )
    assert [(found.folder, found.scope) for found in discovery.found] == [(home / "extensions" / "guard", Scope.GLOBAL)]
    (skipped,) = discovery.skipped
    assert skipped.is_error
    assert skipped.untrusted is not None
    assert skipped.reason == "not trusted (never seen): not started; zot ext trust guard, or --trust-project"
    assert skipped.line == f"extension guard of this project is {skipped.reason}"


def test_extensions_in_a_home_that_is_also_the_project_are_the_users_own(folder):
    project = folder.parents[2]
    (found_there,) = discover(
        (), project, project / ".zot", lambda _: no_steps(SkipReason("never seen", SkipCause.NEVER_SEEN))
    ).found
    assert found_there.scope is Scope.GLOBAL


def test_content_that_runs_elsewhere_runs_here_under_its_name_and_no_other_does(folder, store, tmp_path):
    home, there = tmp_path / "home", found(folder)
    content = store.examine(folder, there.manifest).content
    admission = Admission(home, Consent(content=frozenset({content_mark("guard", content.hash)})))
    allowed = admitted(admission, there)
    assert isinstance(allowed, FoundExtension)
    assert allowed.is_hashed
    assert verdict(admission, there, there.manifest) is None
    assert store.entries() == {}
    assert not admission.knows(folder)
    renamed = Consent(content=frozenset({content_mark("other", content.hash)}))
    assert admitted(Admission(home, renamed), there) == "never seen"
    append(folder / "run.sh")
    assert "run.sh has changed since it was checked" in allowed.change
    assert admitted(admission, there) == "never seen"
    store.trust(folder, there.manifest)  # the user's own trust counts as ever
    assert isinstance(admitted(admission, there), FoundExtension)


def test_with_a_damaged_trust_file_no_content_counts(folder, store, tmp_path):
    there = found(folder)
    content = store.examine(folder, there.manifest).content
    store.path.parent.mkdir(exist_ok=True)
    store.path.write_text("{")
    admission = Admission(tmp_path / "home", Consent(content=frozenset({content_mark("guard", content.hash)})))
    assert "is damaged" in str(admitted(admission, there))


# --- a copy of the project ------------------------------------------------------------------------------------------


@pytest.fixture
def copied(folder, tmp_path) -> Path:
    """The same extension in a copy of its project."""
    shutil.copytree(tmp_path / "project", tmp_path / "copy", symlinks=True)
    return tmp_path / "copy" / folder.relative_to(tmp_path / "project")


def in_copy(tmp_path) -> Admission:
    return Admission(tmp_path / "home", Consent(copy=ProjectCopy.of(str(tmp_path / "copy"), str(tmp_path / "project"))))


def test_what_equals_what_is_trusted_is_trusted_in_a_copy(folder, store, copied, tmp_path):
    original, in_it = tmp_path / "project", found(copied)
    assert admitted(in_copy(tmp_path), in_it) == f"never seen in {original}"
    store.trust(folder, written(folder))
    there = admitted(in_copy(tmp_path), in_it)
    assert isinstance(there, FoundExtension)
    assert there.is_hashed
    assert admitted(Admission(tmp_path / "home", Consent()), in_it) == "never seen"
    append(copied / "run.sh")
    assert "run.sh has changed since it was checked" in there.change
    assert admitted(in_copy(tmp_path), in_it) == f"it is not what was trusted in {original}"


def test_a_copilot_extension_is_trusted_in_a_copy(store, tmp_path):
    for name in ("project", "copy"):
        copilot_extension(tmp_path / name / ".github" / "extensions", "notes")
    here, there = (tmp_path / name / ".github" / "extensions" / "notes" for name in ("project", "copy"))
    store.trust(here, read_manifest(here))
    assert isinstance(
        admitted(in_copy(tmp_path), FoundExtension(there, read_manifest(there), Scope.PROJECT)), FoundExtension
    )
    append(there / "extension.mjs")
    assert not isinstance(
        admitted(in_copy(tmp_path), FoundExtension(there, read_manifest(there), Scope.PROJECT)), FoundExtension
    )


@pytest.mark.parametrize(
    ("path", "there"),
    [("/r/copy/a", "/p/a"), ("/r/copy/.mcp.json/x", "/p/.mcp.json/x"), ("/r/copy", None), ("/r/copy2/a", None),
     ("/elsewhere", None), ("/p/a", None)],
)  # fmt: skip
def test_only_what_lies_in_the_copy_has_a_place_in_the_original(path, there):
    assert ProjectCopy("/r/copy", "/p").in_original(path) == there
    if there is not None:
        assert ProjectCopy("/r/copy", "/").in_original(path) == path.removeprefix("/r/copy")
