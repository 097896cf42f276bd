"""The states of a worker follow each other one way, and end; one that a host runs comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.lifecycle import Trigger, WorkerState, advance

RANK = {
    WorkerState.SPAWNED: 0,
    WorkerState.ASLEEP: 0.5,
    WorkerState.WAKING: 0.7,
    WorkerState.GREETED: 1,
    WorkerState.READY: 2,
    WorkerState.STOPPING: 3,
    WorkerState.EXITED: 4,
    WorkerState.FAILED: 4,
    WorkerState.STOPPED: 4,
    WorkerState.BACKOFF: 5,
}
OF_OTHER_HOSTS = (Trigger.LOST, Trigger.FOUND, Trigger.AWAITED)
"""Triggers of workers whose process another host restarts."""
OWN = [trigger for trigger in Trigger if trigger not in OF_OTHER_HOSTS]
DECIDED_LATER = (Trigger.RETRY, Trigger.ABANDONED)
"""Triggers that decide about the slot after its worker has ended."""


@given(st.lists(st.sampled_from(OWN)))
def test_a_worker_never_goes_back_to_an_earlier_state(history: list[Trigger]):
    state, has_ended = WorkerState.SPAWNED, False
    for trigger in history:
        following = advance(state, trigger)
        has_ended |= trigger is Trigger.GONE and state is not WorkerState.ASLEEP
        if trigger not in DECIDED_LATER:
            assert following is state or RANK[following] > RANK[state]
        state = following
    if has_ended:
        assert state in (WorkerState.EXITED, WorkerState.FAILED, WorkerState.BACKOFF, WorkerState.STOPPED)


@pytest.mark.parametrize("state", WorkerState)
@pytest.mark.parametrize("trigger", OWN)
def test_an_end_state_is_final(state: WorkerState, trigger: Trigger):
    if state in (WorkerState.EXITED, WorkerState.FAILED, WorkerState.BACKOFF) and trigger not in DECIDED_LATER:
        assert advance(state, trigger) is state


@pytest.mark.parametrize(
    ("history", "state"),
    [
        ([Trigger.HELLO, Trigger.SETTLED], WorkerState.READY),
        ([Trigger.SETTLED], WorkerState.SPAWNED),
        ([Trigger.HELLO, Trigger.STOP, Trigger.GONE], WorkerState.EXITED),
        ([Trigger.HELLO, Trigger.SETTLED, Trigger.GONE, Trigger.STOP], WorkerState.FAILED),
        ([Trigger.REFUSED, Trigger.GONE], WorkerState.FAILED),
        ([Trigger.STOP, Trigger.HELLO, Trigger.SETTLED], WorkerState.STOPPING),
        ([Trigger.STOP, Trigger.REFUSED], WorkerState.STOPPING),
        ([Trigger.GONE, Trigger.RETRY], WorkerState.BACKOFF),
        ([Trigger.GONE, Trigger.RETRY, Trigger.HELLO, Trigger.STOP], WorkerState.BACKOFF),
        ([Trigger.GONE, Trigger.RETRY, Trigger.ABANDONED], WorkerState.FAILED),
        ([Trigger.HELLO, Trigger.RETRY], WorkerState.GREETED),
        ([Trigger.UNUSED, Trigger.RETRY], WorkerState.BACKOFF),
        ([Trigger.HELLO, Trigger.UNUSED], WorkerState.GREETED),
        ([Trigger.SLEPT, Trigger.HELLO], WorkerState.ASLEEP),
        ([Trigger.SLEPT, Trigger.GONE], WorkerState.ASLEEP),
        ([Trigger.SLEPT, Trigger.WOKEN], WorkerState.WAKING),
        ([Trigger.SLEPT, Trigger.WOKEN, Trigger.HELLO, Trigger.SETTLED], WorkerState.READY),
        ([Trigger.SLEPT, Trigger.WOKEN, Trigger.GONE, Trigger.RETRY], WorkerState.BACKOFF),
        ([Trigger.SLEPT, Trigger.WOKEN, Trigger.REFUSED], WorkerState.FAILED),
        ([Trigger.SLEPT, Trigger.WOKEN, Trigger.STOP, Trigger.GONE], WorkerState.EXITED),
        ([Trigger.SLEPT, Trigger.UNUSED], WorkerState.ASLEEP),
        ([Trigger.HELLO, Trigger.SETTLED, Trigger.SLEPT], WorkerState.READY),
        ([Trigger.LOST], WorkerState.BACKOFF),
        ([Trigger.HELLO, Trigger.SETTLED, Trigger.LOST], WorkerState.BACKOFF),
        ([Trigger.HELLO, Trigger.SETTLED, Trigger.LOST, Trigger.FOUND], WorkerState.READY),
        ([Trigger.HELLO, Trigger.SETTLED, Trigger.LOST, Trigger.ABANDONED, Trigger.FOUND], WorkerState.FAILED),
        ([Trigger.LOST, Trigger.AWAITED], WorkerState.SPAWNED),
        ([Trigger.HELLO, Trigger.SETTLED, Trigger.FOUND, Trigger.STOP, Trigger.LOST], WorkerState.STOPPING),
    ],
    ids=str,
)
def test_a_history_of_triggers_leads_to_its_state(history: list[Trigger], state: WorkerState):
    now = WorkerState.SPAWNED
    for trigger in history:
        now = advance(now, trigger)
    assert now is state


def test_what_the_states_mean():
    asleep, waking, spawned = WorkerState.ASLEEP, WorkerState.WAKING, WorkerState.SPAWNED
    greeted, ready = WorkerState.GREETED, WorkerState.READY
    assert {state for state in WorkerState if state.is_up} == {asleep, waking, greeted, ready}
    assert {state for state in WorkerState if not state.is_settled} == {waking, spawned, greeted}
    assert {state for state in WorkerState if state.is_awaited} == {waking, spawned}
