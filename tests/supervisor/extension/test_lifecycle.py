"""The states of a worker follow each other one way, and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.lifecycle import State, Trigger, advance

RANK = {
    State.SPAWNED: 0,
    State.GREETED: 1,
    State.READY: 2,
    State.STOPPING: 3,
    State.EXITED: 4,
    State.FAILED: 4,
    State.BACKOFF: 5,
}
DECIDED_LATER = (Trigger.RETRY, Trigger.ABANDONED)
"""They say what becomes of the slot after the worker has ended."""


@given(st.lists(st.sampled_from(Trigger)))
def test_a_worker_never_goes_back_to_an_earlier_state(history: list[Trigger]):
    state = State.SPAWNED
    for trigger in history:
        following = advance(state, trigger)
        if trigger not in DECIDED_LATER:
            assert following is state or RANK[following] > RANK[state]
        state = following
    if Trigger.GONE in history:
        assert state in (State.EXITED, State.FAILED, State.BACKOFF)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("trigger", Trigger)
def test_an_end_state_is_final(state: State, trigger: Trigger):
    if state in (State.EXITED, State.FAILED, State.BACKOFF) and trigger not in DECIDED_LATER:
        assert advance(state, trigger) is state


@pytest.mark.parametrize(
    ("history", "state"),
    [
        ([Trigger.HELLO, Trigger.SETTLED], State.READY),
        ([Trigger.SETTLED], State.SPAWNED),
        ([Trigger.HELLO, Trigger.STOP, Trigger.GONE], State.EXITED),
        ([Trigger.HELLO, Trigger.SETTLED, Trigger.GONE, Trigger.STOP], State.FAILED),
        ([Trigger.REFUSED, Trigger.GONE], State.FAILED),
        ([Trigger.STOP, Trigger.HELLO, Trigger.SETTLED], State.STOPPING),
        ([Trigger.STOP, Trigger.REFUSED], State.STOPPING),
        ([Trigger.GONE, Trigger.RETRY], State.BACKOFF),
        ([Trigger.GONE, Trigger.RETRY, Trigger.HELLO, Trigger.STOP], State.BACKOFF),
        ([Trigger.GONE, Trigger.RETRY, Trigger.ABANDONED], State.FAILED),
        ([Trigger.HELLO, Trigger.RETRY], State.GREETED),
        ([Trigger.UNUSED, Trigger.RETRY], State.BACKOFF),
        ([Trigger.HELLO, Trigger.UNUSED], State.GREETED),
    ],
    ids=str,
)
def test_a_history_of_triggers_leads_to_its_state(history: list[Trigger], state: State):
    now = State.SPAWNED
    for trigger in history:
        now = advance(now, trigger)
    assert now is state


def test_what_the_states_mean():
    assert {state for state in State if state.is_up} == {State.GREETED, State.READY}
    assert {state for state in State if not state.is_settled} == {State.SPAWNED, State.GREETED}
