"""Every session is in the tree once, whatever the files say of their parents."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.sessions.reading.tree import DEPTH, tree


class Session(msgspec.Struct, frozen=True):
    id: str
    parent: str = ""


def flat(branches, depth=0):
    """Each session with the number of those above it."""
    for branch in branches:
        yield branch.session, depth
        yield from flat(branch.children, depth + 1)


def shown(*sessions):
    return [(session.id, depth) for session, depth in flat(tree(sessions))]


def test_forks_are_behind_their_originals():
    sessions = [Session("c", "b"), Session("d"), Session("b", "a"), Session("e", "a"), Session("a")]
    assert shown(*sessions) == [("d", 0), ("a", 0), ("b", 1), ("c", 2), ("e", 1)]


def test_a_session_whose_original_is_gone_is_a_root():
    assert shown(Session("b", "gone"), Session("c", "b")) == [("b", 0), ("c", 1)]


def test_loops_end():
    assert shown(Session("a", "a")) == [("a", 0)]
    assert shown(Session("x", "b"), Session("a", "b"), Session("b", "a")) == [("a", 0), ("b", 1), ("x", 2)]


def test_a_long_line_of_forks_is_not_nested_without_end():
    sessions = [Session(str(number), str(number - 1)) for number in range(5_000)]
    assert list(flat(tree(sessions))) == [(session, min(int(session.id), DEPTH)) for session in sessions]


ids = st.sampled_from(["", "a", "b", "c", "d", "e"])


@given(st.lists(st.builds(Session, ids, ids), max_size=8))
def test_each_session_is_there_once_and_below_its_original(sessions):
    branches = list(flat(tree(sessions)))
    assert sorted((session for session, _ in branches), key=repr) == sorted(sessions, key=repr)
    way = []
    for session, depth in branches:
        del way[depth:]
        if way:
            assert session.parent == way[-1]
        way.append(session.id)
