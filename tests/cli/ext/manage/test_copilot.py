"""The commands for extensions with those of the Copilot CLI."""

from __future__ import annotations

import pytest

from tests.support.copilot_folders import copilot_extension, fake_sdk, put_on_path, write_node
from tests.support.zot_fork import run


@pytest.fixture
def place(zot, tmp_path, monkeypatch):
    """The folder of the project's Copilot extensions; that of the user's has one, called mine."""
    put_on_path(tmp_path / "bin", monkeypatch)
    zot.env |= {"COPILOT_HOME": str(tmp_path / "copilot"), "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    (zot.cwd / ".git").mkdir()
    copilot_extension(tmp_path / "copilot" / "extensions", "mine")
    fake_sdk(zot.home / "copilot-sdk")
    return zot.cwd / ".github" / "extensions"


def test_they_are_listed_with_what_they_are(zot, place):
    copilot_extension(place, "notes", description="Takes notes.")
    rows = run(zot, "ext", "list", "--json").json_lines
    assert [(row["name"], row["scope"], row["kind"], row["dialect"], row["trusted"]) for row in rows] == [
        ("notes", "project", "copilot", "copilot", False),
        ("mine", "global", "copilot", "copilot", False),
    ]
    assert "copilot" in run(zot, "ext", "list").text
    (row,) = run(zot, "ext", "info", "notes", "--json").json_lines
    assert (row["argv"][1:], row["data_dir"], row["warnings"]) == (["extension.mjs"], None, [])
    package = zot.home / "copilot-sdk" / "node_modules" / "@github" / "copilot-sdk"
    assert row["copilot_sdk"] == {"version": "1.0.0", "dir": str(package)}
    said = run(zot, "ext", "info", "notes").text
    assert f"Copilot SDK   1.0.0, {package}\n" in said
    assert "no, never seen: zot ext trust notes" in said
    assert run(zot, "ext", "status", "notes").text.startswith("notes: not trusted")


def test_trust_by_name_all_that_wait_and_back(zot, place):
    copilot_extension(place, "notes")
    waits = run(zot, "ext", "trust")
    assert waits.status == 1
    assert [line for line in waits.text.splitlines() if line[:4] in ("name", "runs", "wait")] == [
        "name    notes",
        "runs    node extension.mjs",
        "waits   never seen: zot ext trust notes",
        "name    mine",
        "runs    node extension.mjs",
        "waits   never seen: zot ext trust mine",
    ]
    assert waits.stderr == (
        f"zot ext trust: 1 extension of {zot.cwd} and 1 Copilot extension of yours not trusted yet: name one, or"
        " zot ext trust --project for all of the project\n"
    )
    assert run(zot, "ext", "trust", "--project").status == 0
    assert run(zot, "ext", "trust").stderr == (
        "zot ext trust: 1 Copilot extension of yours not trusted yet: zot ext trust NAME trusts one\n"
    )
    assert run(zot, "ext", "trust", "mine").status == 0
    assert [row["standing"] for row in run(zot, "ext", "trust", "--list", "--json").json_lines] == ["trusted"] * 2
    assert run(zot, "ext", "trust", "--revoke", "mine").status == 0
    assert [row["trusted"] for row in run(zot, "ext", "list", "--json").json_lines] == [True, False]


def test_one_that_is_switched_off_says_so(zot, place):
    copilot_extension(place, "notes")
    assert run(zot, "ext", "disable", "notes").status == 0
    assert run(zot, "ext", "status", "notes").text.startswith("notes: disabled")
    assert run(zot, "ext", "enable", "notes").status == 0
    assert run(zot, "ext", "remove", "notes", "--yes").status == 0
    assert not (place / "notes").exists()


@pytest.mark.parametrize(
    ("node", "advice"),
    [
        ("exit 0", "let the top level of extension.mjs call joinSession(), and await it"),
        ("exec sleep 600", "let the top level of extension.mjs call joinSession(), and await it, before it waits for"),
    ],
)
def test_the_doctor_knows_how_one_joins(zot, place, tmp_path, node, advice):
    write_node(tmp_path / "bin", node)
    folder = copilot_extension(place, "notes", timeouts={"hello": 0.3})
    (row,) = run(zot, "ext", "doctor", folder, "--json").json_lines
    assert [each["advice"][: len(advice)] for each in row["findings"] if each["level"] == "fail"] == [advice]


def test_the_doctor_names_what_is_missing(zot, place):
    copilot_extension(place, "notes", exec="x")
    run(zot, "ext", "trust", "mine")
    (zot.home / "copilot-sdk").rename(zot.home / "away")
    found = {
        row["name"]: [(each["topic"], each["message"], each["advice"]) for each in row["findings"]]
        for row in run(zot, "ext", "doctor", "--json").json_lines
    }
    assert found == {
        "notes": [
            (
                "manifest",
                "manifest: exec: zot starts extension.mjs itself, and knows its protocol; leave exec out",
                "",
            )
        ],
        "mine": [
            (
                "program",
                "it needs @github/copilot-sdk, which is not installed",
                "zot ext install-sdk copilot",
            )
        ],
    }
    (row,) = run(zot, "ext", "doctor", "mine", "--json").json_lines
    assert row["findings"][0]["topic"] == "program"


def test_the_doctors_say_what_is_broken_among_the_users_own(zot, place, tmp_path):
    program = tmp_path / "copilot" / "extensions" / "mine" / "extension.mjs"
    program.write_text("")
    why = "extension.mjs is empty; write the extension, or remove the folder"
    (row,) = run(zot, "ext", "doctor", "--json").json_lines
    assert [(each["topic"], each["message"], each["advice"]) for each in row["findings"]] == [("manifest", why, "")]
    (told,) = run(zot, "doctor", "--json").json_lines
    failed = [each for each in told["checks"] if each["name"] == "extensions" and each["level"] == "fail"]
    assert [(each["message"], each["advice"]) for each in failed] == [
        (f"{program.parent}: {why}", "correct or remove it")
    ]


def test_its_protocol_is_none_that_scripts_are_for(zot, place):
    folder = copilot_extension(place, "notes")
    said = run(zot, "ext", "test", str(folder)).stderr
    assert f"notes speaks copilot, and this command is for zot's own protocol; try zot ext doctor {folder}" in said


def test_an_sdk_has_to_be_named(zot):
    outcome = zot.run("ext", "install-sdk")
    expected = "zot: Missing argument 'SDK'. Choose from: copilot (see zot ext install-sdk --help)\n"
    assert (outcome.status, outcome.stderr) == (2, expected)


def test_who_names_the_program_is_told_to_name_its_folder(zot, place):
    folder = copilot_extension(place, "notes")
    program = folder / "extension.mjs"
    for command in ("trust", "doctor"):
        assert run(zot, "ext", command, str(program)).stderr == (
            f"zot ext {command}: {program}: is a file; name its folder: {folder}\n"
        )
    named = run(zot, "-p", "--base-url", "http://127.0.0.1:1", "-e", str(program), "go")
    assert f"{program}: read manifest: it is a file; name its folder, {folder}" in named.stderr
