"""`zot session list`: one line for each session, the newest first."""

from __future__ import annotations

import fcntl
import time

import msgspec
import pytest

from agent.sessions.rows import Meta, message_line, meta_line, usage_line
from agent.sessions.store import list_sessions
from cli.columns import cut_line
from cli.sessions.list import table
from cli.sessions.shared_options import when
from tests.cli.sessions.conftest import ELSEWHERE, OTHER
from tests.support.session_files import ID, say, write_session
from tests.support.zot_fork import run
from wire.events import Totals
from wire.rpc.sessions import Session


def test_a_table_of_this_folder(zot, sessions):
    outcome = run(zot, "session", "list")
    assert (outcome.status, outcome.stderr) == (0, "")
    head, first, second = outcome.text.splitlines()
    assert head.split() == ["id", "when", "messages", "tokens", "cost", "model", "title"]
    assert " ".join(first.split()) == "3a3ec9b6 just now 6 10640 $0.0123 m-1 Fix the test. E assert 3 == 4"
    assert " ".join(second.split()) == "90b1ffff 2023-11-14 2 0 $0 m-1 add a button"


def test_all_folders_and_at_most_so_many(zot, sessions):
    lines = run(zot, "session", "list", "--all").text.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "3a3ec9b6", "90b1ffff", "77777777"]
    assert "/elsewhere" in lines[3]
    assert len(run(zot, "session", "list", "--all", "-n", "2").text.splitlines()) == 3
    assert "far away" in run(zot, "session", "list", "-C", "/elsewhere").text


def test_json_is_as_documented(zot, sessions):
    lines = run(zot, "session", "list", "--all", "--json").stdout.splitlines()
    found = [msgspec.json.decode(line, type=Session) for line in lines]
    assert [info.id for info in found] == [ID, OTHER, ELSEWHERE]
    assert (found[0].path, found[0].message_count, found[0].in_use) == (str(sessions["path"]), 6, False)
    assert found[0].usage == Totals(1200, 340, 9000, 100, 0.0123)


def test_without_sessions_a_hint_is_on_stderr(zot):
    outcome = run(zot, "session", "list")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr == f"no sessions of {zot.cwd}; zot session list --all has those of all folders\n"
    assert not zot.home.exists()


def test_an_unknown_cost_is_not_zero_and_hidden_sessions_are_left_out(zot):
    rows = [meta_line(Meta(id=ID, cwd=str(zot.cwd))), message_line(say("\x1b[31mhi")), usage_line(Totals(1, 2, 3, 4))]
    path = write_session(zot.home, str(zot.cwd), rows)
    hidden = meta_line(Meta(id="x" * 8, hide_from_sessions=True))
    (path.parent / "hidden.jsonl").write_bytes(hidden)
    (line,) = run(zot, "session", "list").text.splitlines()[1:]
    assert line.split() == ["3a3ec9b6", "just", "now", "1", "10", "unknown", "-", "hi"]


def test_one_in_use_is_marked_and_what_is_broken_is_said(zot, sessions):
    (sessions["path"].parent / "broken.jsonl").write_text("what\n")
    with sessions["path"].open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        outcome = run(zot, "session", "list")
    assert outcome.text.splitlines()[1].startswith("3a3ec9b6*")
    assert len(outcome.text.splitlines()) == 3
    assert "broken.jsonl: no session" in outcome.stderr


def test_on_a_narrow_terminal_columns_give_way_before_the_title(zot, sessions):
    found = list_sessions(zot.home, str(zot.cwd))
    lines = table(found, 50, with_folder=False)
    assert lines[0].split() == ["id", "when", "title"]
    assert max(map(len, lines)) == 50
    assert lines[1].endswith("…")
    assert table([], 50, with_folder=False)[0].startswith("id")


def test_wide_characters_count_two():
    assert cut_line("日本語テキスト", 7) == "日本語…"
    assert cut_line("日本語", 6) == "日本語"


@pytest.mark.parametrize(
    ("age", "words"),
    [
        *((0, "just now"), (59, "just now"), (-30, "just now"), (60, "1 min ago"), (3599, "59 min ago")),
        *((3600, "1 h ago"), (86_399, "23 h ago"), (86_400, "1 d ago"), (6 * 86_400, "6 d ago")),
    ],
)
def test_times_in_plain_words(age, words):
    assert when("2026-01-02T03:04:05+00:00", 1_767_323_045 + age) == words


def test_times_far_away_are_dates(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert when("2026-01-02T03:04:05+00:00", 1_800_000_000) == "2026-01-02"
    assert when("2026-01-02T03:04:05+00:00", 1_700_000_000) == "2026-01-02"
    assert when("never", 0) == "?"


def test_a_wrong_flag_is_misuse(zot):
    assert run(zot, "session", "list", "-n", "0").status == 2
    assert run(zot, "session", "list", "-C", "").status == 2
    assert run(zot, "session", "lst").status == 2
