"""The fields of an `extension.json` beside an `extension.mjs`, and faults of its folder."""

from __future__ import annotations

import json
import os

import pytest

from supervisor.discovery.discover import read_manifest
from tests.support.copilot_folders import copilot_extension
from wire.manifest import ManifestError


def refused(folder):
    with pytest.raises(ManifestError) as caught:
        read_manifest(folder)
    return str(caught.value)


@pytest.fixture
def place(project):
    return project / ".github" / "extensions"


def test_none_is_needed(place):
    manifest = read_manifest(copilot_extension(place, "notes"))
    assert (manifest.name, manifest.dialect, manifest.exec, manifest.args) == (
        "notes", "copilot", "node", ("extension.mjs",)
    )  # fmt: skip
    times = manifest.timeouts
    assert (times.ready, times.intercept, times.tool_call, times.command) == (10, 30, 300, 300)
    assert manifest.text == b""
    assert manifest.remark == ""


def test_it_may_set_limits_and_rules(place):
    folder = copilot_extension(
        place, "notes", name="notes", limits={"rss_mb": 300}, on_failure="deny", env=["GITHUB_TOKEN"],
        timeouts={"tool_call": 5}, priority=3, required=True, enabled=False, colour="red",
    )  # fmt: skip
    manifest = read_manifest(folder)
    assert (manifest.name, manifest.dialect) == ("notes", "copilot")
    assert (manifest.limits.rss_mb, manifest.on_failure, manifest.env) == (300, "deny", ("GITHUB_TOKEN",))
    assert (manifest.timeouts.tool_call, manifest.timeouts.ready) == (5, 10)
    assert (manifest.priority, manifest.required, manifest.is_enabled) == (3, True, False)
    assert "colour" in manifest.remark
    assert manifest.text == (folder / "extension.json").read_bytes()


@pytest.mark.parametrize(
    ("field", "value"), [("exec", "./run"), ("args", ["x"]), ("dialect", "zot"), ("dialect", "copilot")]
)
def test_it_may_not_say_how_it_is_started(place, field, value):
    folder = copilot_extension(place, "notes", **{field: value})
    assert refused(folder) == (
        f"manifest: {field}: zot starts extension.mjs itself, and knows its protocol; leave {field} out"
    )


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"name": "other"}, "manifest: name is \"other\", and its folder is 'notes'; make them equal, or leave it out"),
        ({"name": 3}, "manifest: name is 3, and its folder is 'notes'; make them equal, or leave it out"),
        ({"workers": 2}, "manifest: workers: a Copilot extension has one process; leave it out"),
        ({"priority": "high"}, "manifest: priority"),
        ({"limits": {"rss": 3}}, "manifest: limits.rss: no such field"),
        ({"onFailure": "deny"}, "manifest: onFailure: no such field"),
    ],
)
def test_faults_of_fields(place, fields, line):
    said = refused(copilot_extension(place, "notes", **fields))
    assert said.startswith(line), said


@pytest.mark.parametrize(
    ("text", "line"), [("[]", "manifest: "), ('{"env": [', "parse manifest: "), ("", "parse manifest: ")]
)
def test_a_manifest_that_is_none(place, text, line):
    folder = copilot_extension(place, "notes")
    (folder / "extension.json").write_text(text)
    assert refused(folder).startswith(line)


def test_a_faulty_guard_may_be_needed(place):
    folder = copilot_extension(place, "notes", on_failure="deny", exec="x")
    with pytest.raises(ManifestError) as caught:
        read_manifest(folder)
    assert caught.value.may_be_needed
    for name, fields in {"other": {}, "off": {"on_failure": "deny", "enabled": False}}.items():
        with pytest.raises(ManifestError) as caught:
            read_manifest(copilot_extension(place, name, exec="x", **fields))
        assert not caught.value.may_be_needed


def test_the_program_is_a_folder(place):
    (place / "notes" / "extension.mjs").mkdir(parents=True)
    assert refused(place / "notes") == "extension.mjs is a folder; it must be a file, the program"


def test_the_program_is_a_link_that_leads_nowhere(place):
    (place / "notes").mkdir(parents=True)
    (place / "notes" / "extension.mjs").symlink_to("../gone.mjs")
    assert refused(place / "notes") == (
        "extension.mjs is a link to ../gone.mjs, which leads to no file; correct or remove the link"
    )


def test_the_program_is_a_link_to_a_file(place, tmp_path):
    (tmp_path / "real.mjs").write_text("x")
    (place / "notes").mkdir(parents=True)
    (place / "notes" / "extension.mjs").symlink_to(tmp_path / "real.mjs")
    assert read_manifest(place / "notes").name == "notes"


def test_the_program_is_empty(place):
    assert refused(copilot_extension(place, "notes", "")).startswith("extension.mjs is empty")


def test_the_program_is_a_pipe(place):
    (place / "notes").mkdir(parents=True)
    os.mkfifo(place / "notes" / "extension.mjs")
    assert refused(place / "notes") == "extension.mjs is no file that can be run"


def test_the_program_is_unreadable(place, monkeypatch):
    folder = copilot_extension(place, "notes")
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.R_OK)  # root may read everything
    assert refused(folder).startswith("extension.mjs cannot be read; chmod u+r ")


def test_the_program_is_missing(place):
    (place / "notes").mkdir(parents=True)
    (place / "notes" / "extension.json").write_text("{}")
    assert refused(place / "notes") == "no extension.mjs in it; without one it is no Copilot extension"


@pytest.mark.parametrize("name", [".hidden", "a\u202eb", "x" * 65])
def test_a_folder_whose_name_cannot_be_that_of_an_extension(place, name):
    assert refused(copilot_extension(place, name)).startswith("its folder must be renamed: ")


def test_elsewhere_an_exec_makes_it_another_extension(tmp_path):
    folder = copilot_extension(tmp_path, "tool", name="other", exec="node", args=["extension.mjs"])
    assert (read_manifest(folder).dialect, read_manifest(folder).name) == ("zot", "other")


def test_elsewhere_without_an_exec_it_is_one(tmp_path):
    assert read_manifest(copilot_extension(tmp_path, "a")).dialect == "copilot"
    assert read_manifest(copilot_extension(tmp_path, "b", priority=1)).dialect == "copilot"


def test_elsewhere_a_text_that_is_no_manifest_is_none_of_a_copilot_extension(tmp_path):
    folder = copilot_extension(tmp_path, "a")
    (folder / "extension.json").write_text('{"exec": ')
    assert refused(folder).startswith("parse manifest: ")
    (folder / "extension.json").write_text(json.dumps({"exec": "", "name": "a"}))
    assert refused(folder).startswith("manifest: exec")


def test_a_folder_with_neither(tmp_path):
    (tmp_path / "a").mkdir()
    assert refused(tmp_path / "a") == "read manifest: no extension.json in it"
    assert refused(tmp_path / "b") == "read manifest: no such folder"


def test_the_name_is_that_of_the_folder_however_it_is_written(tmp_path):
    folder = copilot_extension(tmp_path, "notes")
    (folder / "sub").mkdir()
    assert read_manifest(folder / "sub" / "..").name == "notes"


ASKS = """await joinSession({
  // what it needs
  requestedEnvironmentVariables: [
    "JIRA_TOKEN", 'HOME', `EXTRA`,
    "JIRA_TOKEN", "not a name", OTHER,
  ],
});
"""


def test_variables_that_the_program_asks_for_are_asked_for_like_those_of_the_manifest(place):
    manifest = read_manifest(copilot_extension(place, "notes", ASKS, env=["GITHUB_TOKEN", "HOME"]))
    assert manifest.env == ("GITHUB_TOKEN", "HOME", "JIRA_TOKEN", "EXTRA")
    assert json.loads(manifest.text) == {"env": ["GITHUB_TOKEN", "HOME"]}


@pytest.mark.parametrize(
    "text",
    [
        "joinSession({ requestedEnvironmentVariables: NAMES })",
        "joinSession({ requestedEnvironmentVariables: [...NAMES, other] })",
        "requestedEnvironmentVariables: [" + '"A",' * 2000,
    ],
)
def test_variables_that_the_program_does_not_spell_out_are_not_known_here(place, text):
    assert read_manifest(copilot_extension(place, "notes", text)).env == ()
