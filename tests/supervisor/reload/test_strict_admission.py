"""Where the agent may write extensions, one runs only as the user has seen it, whatever the flags of the run are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import Discovery, discovery_steps
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.steps import finish
from supervisor.discovery.trust_store import TrustStore
from supervisor.reload.strict_admission import StrictAdmission
from tests.support.project_extension import append, written

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.skipped_extension import SkippedExtension, SkipReason


class Place:
    """A project with extensions, the user's home, and a host that has started."""

    def __init__(self, folder: Path, consent: Consent, *names: str, trusted: bool = False, named: str = "") -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.home.mkdir(parents=True)
        self.extensions = self.project / ".zot" / "extensions"
        self.admission = Admission(self.home, consent)
        self.named = named
        for name in names:
            self.put(name, trusted=trusted)
        self.start()

    def start(self) -> None:
        self.strict = StrictAdmission(self.home, "zot")
        self.started = finish(self.strict.first(self._discover()))

    def put(self, name: str, *, trusted: bool = False, parent: Path | None = None, **fields: Any) -> Path:
        folder = (parent or self.extensions) / name
        folder.mkdir(parents=True)
        (folder / "run.sh").write_text("exit\n")
        manifest = written(folder, name=name, **fields)
        if trusted:
            TrustStore(self.home).trust(folder, manifest)
        return folder

    def _discover(self) -> Discovery:
        named = (self.named,) if self.named else ()
        return finish(discovery_steps(named, self.project, self.home, self.admission.for_one_start()))

    def again(self) -> tuple[dict[str, FoundExtension], dict[str, SkippedExtension]]:
        discovery = finish(self.strict.again(self._discover()))
        return {each.manifest.name: each for each in discovery.found}, {each.name: each for each in discovery.skipped}

    def why_not(self, name: str) -> SkipReason:
        found, skipped = self.again()
        assert name not in found
        assert skipped[name].untrusted is not None
        return skipped[name].why


WHOLE = Consent(whole_project=True)


def test_consent_to_a_run_is_about_what_was_there_at_its_start(tmp_path: Path):
    place = Place(tmp_path, WHOLE, "one")
    assert [each.manifest.name for each in place.started.found] == ["one"]
    assert list(place.again()[0]) == ["one"], "unchanged it may start again"
    place.put("new")
    assert place.why_not("new").text == "not trusted (never seen)"
    append(place.extensions / "one" / "run.sh")
    why = place.why_not("one")
    assert why.text == "not trusted (its files have changed since it was started)"
    assert why.is_waiting


@pytest.mark.parametrize("change", ["file", "new file", "manifest", "env", "link", "moved by a link"])
def test_a_trusted_one_runs_only_as_it_was_trusted(tmp_path: Path, change: str):
    place = Place(tmp_path, Consent(), "one", trusted=True)
    folder = place.extensions / "one"
    before = place.started.found[0]
    assert before.seal is not None
    assert before.seal.lasts
    assert not before.change
    if change == "file":
        append(folder / "run.sh")
    elif change == "new file":
        (folder / "more.mjs").write_text("evil")
    elif change in ("manifest", "env"):
        written(folder, name="one", **({"env": ["GITHUB_TOKEN"]} if change == "env" else {"priority": 3}))
    elif change == "link":
        (folder / "run.sh").unlink()
        (folder / "run.sh").symlink_to("/bin/sh")
    else:
        evil = place.put("one", parent=tmp_path / "elsewhere")
        folder.rename(tmp_path / "away")
        folder.symlink_to(evil)
    why = {"env": "it now asks for GITHUB_TOKEN", "moved by a link": "never seen"}
    assert place.why_not("one").text == f"not trusted ({why.get(change, 'its files have changed')})"
    assert before.change, "and a process that ends is not restarted from there"


def test_the_user_may_trust_it_while_the_host_runs(tmp_path: Path):
    place = Place(tmp_path, Consent())
    folder = place.put("new")
    assert place.why_not("new").is_waiting
    TrustStore(place.home).trust(folder, written(folder, name="new"))
    found, _ = place.again()
    assert found["new"].seal is not None
    assert found["new"].seal.lasts
    TrustStore(place.home).revoke(folder)
    assert place.why_not("new").is_waiting


def test_one_that_is_named_runs_as_it_was_when_it_was_named(tmp_path: Path):
    named = tmp_path / "named"
    Place.put(Place.__new__(Place), "named", parent=tmp_path)
    place = Place(tmp_path, Consent(), named=str(named))
    assert place.again()[0]["named"].scope is Scope.EXPLICIT
    written(named, name="named", env=["GITHUB_TOKEN"])
    assert place.why_not("named").is_waiting


def test_the_users_own_wait_for_a_record_too(tmp_path: Path):
    place = Place(tmp_path, Consent())
    folder = place.put("mine", parent=place.home / "extensions")
    assert place.why_not("mine").is_waiting
    TrustStore(place.home).trust(folder, written(folder, name="mine"))
    assert "mine" in place.again()[0]


def test_an_absolute_link_is_not_followed_into_what_nobody_has_seen(tmp_path: Path):
    place = Place(tmp_path, Consent())
    folder = place.put("one")
    (tmp_path / "later.mjs").write_text("fine")
    os.symlink(tmp_path / "later.mjs", folder / "extension.mjs")
    TrustStore(place.home).trust(folder, written(folder, name="one"))
    assert "extension.mjs is an absolute link" in place.why_not("one").text


def test_a_damaged_record_lets_nothing_in(tmp_path: Path):
    place = Place(tmp_path, WHOLE, "one")
    (place.home / "trust.json").write_text("{")
    assert place.why_not("one").is_waiting


def test_other_dialects_are_left_as_the_run_has_admitted_them(tmp_path: Path):
    place = Place(tmp_path, WHOLE, "one")
    place.strict = StrictAdmission(place.home, "mcp")
    place.put("new")
    assert sorted(place.again()[0]) == ["new", "one"]


def started(place: Place) -> FoundExtension:
    (found,) = place.started.found
    return found


@pytest.mark.parametrize("trusted", [True, False])
def test_one_with_an_absolute_link_runs_once(tmp_path: Path, trusted: bool):
    """The extension starts as the user has said. It does not start again: its present content is unchecked."""
    elsewhere = tmp_path / "elsewhere.mjs"
    elsewhere.write_text("fine")
    place = Place(tmp_path, WHOLE if not trusted else Consent())
    folder = place.put("one")
    (folder / "extension.mjs").symlink_to(elsewhere)
    if trusted:
        TrustStore(place.home).trust(folder, written(folder, name="one"))
    place.start()
    assert started(place).change == ""
    assert started(place).lasting_change == (
        f"it is not restarted in a run with --copilot: {folder / 'extension.mjs'} is an absolute link, and its"
        " target was not checked; put the file itself in its place"
    )


def test_so_does_one_that_is_too_large_to_be_checked_and_keeps_no_other_from_that(tmp_path: Path):
    place = Place(tmp_path, WHOLE)
    with (place.put("big") / "model.bin").open("wb") as file:
        file.truncate(2**40)
    place.put("other")
    place.start()
    big, other = place.started.found
    assert big.change == ""
    assert "more than 512 MB would be read" in big.lasting_change
    assert other.lasting_change == ""
    assert list(place.again()[0]) == ["other"]
