"""`zot session search`: which session, which message; its status is that of grep."""

from __future__ import annotations

import msgspec
import pytest

from tests.cli.sessions.conftest import ELSEWHERE
from tests.support.session_files import ID
from tests.support.zot_fork import run
from wire.rpc.sessions import Found


def test_places_under_their_session(zot, sessions):
    outcome = run(zot, "session", "search", "TEST_IT")
    assert outcome.status == 0
    assert outcome.text.splitlines() == [
        "3a3ec9b6  just now  6 messages  Fix the test. E assert 3 == 4",
        "  [2] call of read: path: test_it.py",
    ]


def test_results_and_texts(zot, sessions):
    lines = run(zot, "session", "search", "fatal|done", "--regex").text.splitlines()
    assert lines[1:] == ["  [3] result of bash: fatal: no repository", "  [6] assistant: Done: ```python open"]


def test_json_is_as_documented(zot, sessions):
    outcome = run(zot, "session", "search", "--all", "--json", "far")
    (found,) = [msgspec.json.decode(line, type=Found) for line in outcome.stdout.splitlines()]
    assert (found.id, found.message, found.role, found.part, found.snippet) == (
        ELSEWHERE,
        1,
        "user",
        "text",
        "far away",
    )


def test_nothing_found_is_status_1(zot, sessions):
    outcome = run(zot, "session", "search", "nowhere to be found")
    assert (outcome.status, outcome.stdout) == (1, b"")
    assert "not found; --all searches" in outcome.stderr
    assert run(zot, "session", "search", "far").status == 1
    assert run(zot, "session", "search", "far", "--all").status == 0
    assert run(zot, "session", "search", "fix", "-s").status == 1


@pytest.mark.parametrize("words", [["(", "--regex"], [""], [], ["a", "b"]])
def test_misuse_is_status_2(zot, sessions, words):
    run(zot, "session", "search", *words).refusal()


def test_hostile_snippets_stay_on_their_line(zot, sessions):
    outcome = run(zot, "session", "search", "gnp.exe", "--all")
    assert outcome.text.count(ID[:8]) == 1
    assert all(character.isprintable() or character == "\n" for character in outcome.text)
