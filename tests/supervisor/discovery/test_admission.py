"""Extensions of a project are started once they are trusted; a new version is held to the rules of its scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import discover
from supervisor.discovery.found import Found, Scope
from supervisor.discovery.skipped import Cause, Why
from supervisor.discovery.steps import Allowance, finish, no_steps
from supervisor.home.config import Config
from tests.support.project_extension import append, found, manifest, written

if TYPE_CHECKING:
    from wire.manifest import Manifest


def admitted(admission: Admission, there: Found) -> Found | str:
    judged = finish(admission.for_one_start()(there))
    return judged.what if isinstance(judged, Why) else judged


def verdict(admission: Admission, there: Found, old: Manifest) -> str | None:
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
    assert isinstance(finish(admit(found(folder))), Found)
    assert "more than 10 files" in str(finish(admit(found(folder))))


def test_an_admitted_version_is_not_hashed_again_and_one_with_another_manifest_is(folder, store, tmp_path):
    admission = Admission(tmp_path / "home", Consent())
    store.trust(folder, manifest())
    there = admitted(admission, found(folder))
    assert isinstance(there, Found)
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
    discovery = discover((), folder.parents[2], home, lambda _: no_steps(Why("never seen", Cause.NEVER_SEEN)))
    assert [(found.folder, found.scope) for found in discovery.found] == [(home / "extensions" / "guard", Scope.GLOBAL)]
    (skipped,) = discovery.skipped
    assert skipped.is_error
    assert skipped.untrusted is not None
    assert skipped.reason == "not trusted (never seen): not started; zot ext trust guard, or --trust-project"
    assert skipped.line == f"extension guard of this project is {skipped.reason}"


def test_extensions_in_a_home_that_is_also_the_project_are_the_users_own(folder):
    project = folder.parents[2]
    (found_there,) = discover(
        (), project, project / ".zot", lambda _: no_steps(Why("never seen", Cause.NEVER_SEEN))
    ).found
    assert found_there.scope is Scope.GLOBAL
