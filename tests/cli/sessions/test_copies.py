"""`zot session fork`, `import` and `tree`: copies with ids of their own, and which came from which."""

from __future__ import annotations

import os
import re

import msgspec
import pytest

from agent.sessions.find import find
from agent.sessions.reading.tree import tree
from agent.sessions.store import describe, list_sessions
from cli.sessions.list import ASCII_LINES, draw_tree
from tests.support.session_files import ID, short_session
from tests.support.zot_fork import run
from wire.rpc.sessions import Branch, Session


def test_a_fork_prints_its_id_and_how_to_go_on(zot, sessions):
    outcome = run(zot, "session", "fork", "3a3e", "--at", "2")
    made = outcome.text.strip()
    assert outcome.stderr == f'2 messages; resume it with: zot -r {made[:8]} -p "…"\n'
    info = describe(find(zot.home, str(zot.cwd), made))
    assert (info.parent, info.fork_point, info.messages) == (ID, 2, 2)


@pytest.mark.parametrize(("words", "status"), [(["--at", "9"], 1), (["--at", "0"], 2), (["--at", "x"], 2)])
def test_a_fork_at_a_message_that_is_not_there_is_refused(zot, sessions, words, status):
    outcome = run(zot, "session", "fork", ID, *words)
    assert (outcome.status, outcome.stdout) == (status, b"")
    assert len(list(sessions["path"].parent.iterdir())) == 2


def test_what_was_exported_is_imported(zot, sessions, tmp_path):
    run(zot, "session", "export", ID, "-o", "run.zotsession")
    (tmp_path / "new").mkdir()
    outcome = run(zot, "session", "import", "run.zotsession", "-C", tmp_path / "new", "--json")
    found = msgspec.json.decode(outcome.stdout, type=Session)
    assert (found.cwd, found.message_count, found.parent) == (str(tmp_path / "new"), 6, "")
    assert found.id != ID
    plain = run(zot, "session", "import", "run.zotsession")
    assert "6 messages; resume it with: zot -r" in plain.stderr
    assert len(plain.text.strip()) == 36


@pytest.mark.parametrize("name", ["none", "text", ".", "", "fifo"])
def test_what_is_no_session_is_not_imported(zot, name):
    (zot.cwd / "text").write_text("hello\n")
    os.mkfifo(zot.cwd / "fifo")
    outcome = run(zot, "session", "import", name)
    assert (outcome.status, outcome.stdout) == (1, b"")
    assert outcome.stderr.startswith("zot session import: ")
    assert len(outcome.stderr.splitlines()) == 1
    assert not zot.home.exists()


@pytest.fixture
def family(zot):
    """A session, two forks of it, one of which has a fork; an orphan; and two that name each other."""
    cwd = str(zot.cwd)
    for name, parent in (("a", ""), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "gone"), ("f", "g"), ("g", "f")):
        ids = {"id_": name * 8, "parent": parent * 8 if len(parent) == 1 else parent}
        short_session(zot.home, cwd, name.upper(), fork_point=1 if parent else 0, **ids)


def test_a_tree_has_each_session_once(zot, family):
    lines = run(zot, "session", "tree").text.splitlines()
    assert sorted(re.findall(r"(\w{8})  just now", "\n".join(lines))) == [name * 8 for name in "abcdefg"]
    at = {line.split("  (")[0][-1]: line for line in lines}
    assert at["A"].startswith("aaaaaaaa  just now  2 messages  A")
    assert at["B"][:3] in ("├─ ", "└─ ")
    assert at["D"][:6] in ("│  └─ ", "   └─ ")
    assert at["D"].endswith("(after message 1)")
    assert at["E"].startswith("eeeeeeee")


def test_a_tree_as_json(zot, family):
    roots = [
        msgspec.json.decode(line, type=Branch) for line in run(zot, "session", "tree", "--json").stdout.splitlines()
    ]
    (first,) = [root for root in roots if root.id == "a" * 8]
    assert {child.id for child in first.children} == {"b" * 8, "c" * 8}
    assert len(roots) == 3


def test_without_utf_8_the_lines_are_plain(zot, family):
    lines = list(draw_tree(tree(list_sessions(zot.home, str(zot.cwd))), 0, ASCII_LINES))
    assert all(line.isascii() for line in lines)
    assert any(line.startswith("|- ") for line in lines)


def test_no_sessions_are_said(zot):
    assert "no sessions" in run(zot, "session", "tree").stderr
