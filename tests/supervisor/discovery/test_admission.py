"""Extensions of a project are started once they are trusted; a new version is held to the rules of its scope."""

from __future__ import annotations

import pytest

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import Scope, discover
from supervisor.home.config import Config
from tests.support.project_extension import append, found, manifest


def test_an_extension_of_a_project_needs_consent(folder, tmp_path):
    home = tmp_path / "home"
    assert Admission(home, Consent())(found(folder)) == "never seen"
    assert Admission(home, Consent(whole_project=True))(found(folder)) == ""
    assert Admission(home, Consent(folders=frozenset({folder})))(found(folder)) == ""


def test_a_new_version_in_a_project_must_be_trusted_as_it_is(folder, store, tmp_path):
    admission = Admission(tmp_path / "home", Consent())
    store.trust(folder, manifest())
    assert admission.may_run(found(folder), manifest()) is None
    append(folder / "run.sh")
    assert admission.may_run(found(folder), manifest()) == "not trusted (its files have changed)"
    store.trust(folder, manifest())
    assert admission.may_run(found(folder), manifest()) is None


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.EXPLICIT])
def test_a_new_version_elsewhere_needs_trust_only_for_more_environment(folder, store, tmp_path, scope):
    admission = Admission(tmp_path / "home", Consent(), Config(secrets=("AWS_*",)))
    append(folder / "run.sh")
    assert admission.may_run(found(folder, scope), manifest()) is None
    asks = found(folder, scope, env=("AWS_KEY",))
    assert admission.may_run(asks, manifest()) == f"it now asks for AWS_KEY, in {folder}"
    assert admission.may_run(asks, asks.manifest) is None
    store.trust(folder, asks.manifest)
    assert admission.may_run(asks, manifest()) is None


def test_an_untrusted_extension_is_skipped_and_hides_no_other(folder, tmp_path):
    home = tmp_path / "home"
    (home / "extensions" / "guard").mkdir(parents=True)
    (home / "extensions" / "guard" / "extension.json").write_text('{"name": "guard", "exec": "x"}')
    discovery = discover((), folder.parents[2], home, lambda _: "never seen")
    assert [(found.folder, found.scope) for found in discovery.found] == [(home / "extensions" / "guard", Scope.GLOBAL)]
    (skipped,) = discovery.skipped
    assert skipped.is_error
    assert skipped.untrusted is not None
    assert skipped.reason == "not trusted (never seen): not started; zot ext trust guard, or --trust-project"
    assert skipped.line == f"extension guard of this project is {skipped.reason}"


def test_extensions_in_a_home_that_is_also_the_project_are_the_users_own(folder):
    project = folder.parents[2]
    (found_there,) = discover((), project, project / ".zot", lambda _: "never seen").found
    assert found_there.scope is Scope.GLOBAL
