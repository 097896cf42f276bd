"""The life of a process goes one way, and ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.lifecycle import Occurrence, State, advance

RANK = {
    State.SPAWNED: 0,
    State.GREETED: 1,
    State.READY: 2,
    State.STOPPING: 3,
    State.EXITED: 4,
    State.FAILED: 4,
    State.BACKOFF: 5,
}
DECIDED_LATER = (Occurrence.RETRY, Occurrence.ABANDONED)
"""What becomes of the place of one that has ended."""


@given(st.lists(st.sampled_from(Occurrence)))
def test_it_never_goes_back(history: list[Occurrence]):
    state = State.SPAWNED
    for occurrence in history:
        following = advance(state, occurrence)
        if occurrence not in DECIDED_LATER:
            assert following is state or RANK[following] > RANK[state]
        state = following
    if Occurrence.GONE in history:
        assert state in (State.EXITED, State.FAILED, State.BACKOFF)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("occurrence", Occurrence)
def test_an_end_is_an_end(state: State, occurrence: Occurrence):
    if state in (State.EXITED, State.FAILED, State.BACKOFF) and occurrence not in DECIDED_LATER:
        assert advance(state, occurrence) is state


@pytest.mark.parametrize(
    ("history", "state"),
    [
        ([Occurrence.HELLO, Occurrence.SETTLED], State.READY),
        ([Occurrence.SETTLED], State.SPAWNED),
        ([Occurrence.HELLO, Occurrence.STOP, Occurrence.GONE], State.EXITED),
        ([Occurrence.HELLO, Occurrence.SETTLED, Occurrence.GONE, Occurrence.STOP], State.FAILED),
        ([Occurrence.REFUSED, Occurrence.GONE], State.FAILED),
        ([Occurrence.STOP, Occurrence.HELLO, Occurrence.SETTLED], State.STOPPING),
        ([Occurrence.STOP, Occurrence.REFUSED], State.STOPPING),
        ([Occurrence.GONE, Occurrence.RETRY], State.BACKOFF),
        ([Occurrence.GONE, Occurrence.RETRY, Occurrence.HELLO, Occurrence.STOP], State.BACKOFF),
        ([Occurrence.GONE, Occurrence.RETRY, Occurrence.ABANDONED], State.FAILED),
        ([Occurrence.HELLO, Occurrence.RETRY], State.GREETED),
    ],
    ids=str,
)
def test_histories(history: list[Occurrence], state: State):
    now = State.SPAWNED
    for occurrence in history:
        now = advance(now, occurrence)
    assert now is state


def test_what_the_states_mean():
    assert {state for state in State if state.is_up} == {State.GREETED, State.READY}
    assert {state for state in State if not state.is_settled} == {State.SPAWNED, State.GREETED}
