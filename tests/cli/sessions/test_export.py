"""`zot session export`: the format that was asked for, written whole or not at all."""

from __future__ import annotations

import json

import pytest

from tests.support.session_files import ID
from tests.support.zot_fork import run


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("run.md", "# Fix the test."),
        ("run.html", "<!doctype html>"),
        ("run.HTM", "<!doctype html>"),
        ("run.json", '{"id":"3a3ec9b6-'),
        ("run.zotsession", '{"type":"meta"'),
        ("run.txt", "# Fix the test."),
    ],
)
def test_the_suffix_says_the_format(zot, sessions, name, begins):
    outcome = run(zot, "session", "export", ID, "-o", name)
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr.startswith(name)
    assert (zot.cwd / name).read_text().startswith(begins)
    assert [path.name for path in zot.cwd.iterdir()] == [name]


def test_the_flag_goes_before_the_suffix_and_stdout_is_markdown(zot, sessions):
    run(zot, "session", "export", ID, "--format", "json", "-o", "run.md")
    assert json.loads((zot.cwd / "run.md").read_text())["id"] == ID
    assert run(zot, "session", "export", ID).text.startswith("# Fix the test.")
    assert run(zot, "session", "export", ID, "-o", "-", "--format", "html").text.startswith("<!doctype html>")
    assert run(zot, "session", "export", ID, "--format", "zotsession").text.startswith('{"type":"meta"')


def test_json_is_what_show_prints(zot, sessions):
    shown = run(zot, "session", "show", ID, "--json").stdout
    assert run(zot, "session", "export", ID, "--format", "json").stdout == shown


def test_a_file_that_is_there_needs_force(zot, sessions):
    (zot.cwd / "run.md").write_text("mine")
    outcome = run(zot, "session", "export", ID, "-o", "run.md")
    assert "run.md is there already; --force replaces it" in outcome.refusal()
    assert (zot.cwd / "run.md").read_text() == "mine"
    assert run(zot, "session", "export", ID, "-o", "run.md", "--force").status == 0
    assert (zot.cwd / "run.md").read_text().startswith("# Fix")


def test_the_session_itself_is_never_replaced(zot, sessions):
    before = sessions["path"].read_bytes()
    outcome = run(zot, "session", "export", ID, "-o", sessions["path"], "--force")
    assert "is the session itself" in outcome.refusal()
    assert sessions["path"].read_bytes() == before


def test_another_suffix_gets_zots(zot, sessions):
    outcome = run(zot, "session", "export", ID, "-o", "run", "--format", "zotsession")
    assert outcome.stderr == "run.zotsession\n"
    assert (zot.cwd / "run.zotsession").exists()


def test_what_cannot_be_written_is_said(zot, sessions):
    assert "a folder; name the file in it" in run(zot, "session", "export", ID, "-o", ".").refusal()
    assert "-o needs the name" in run(zot, "session", "export", ID, "-o", "").refusal()
    outcome = run(zot, "session", "export", ID, "-o", "no/such/run.md")
    assert outcome.status == 1
    assert "run.md: cannot be written" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert run(zot, "session", "export", "nope", "-o", "run.md").status == 1
    assert list(zot.cwd.iterdir()) == []
