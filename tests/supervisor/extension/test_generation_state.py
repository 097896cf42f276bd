"""A generation goes from candidate to current to draining to gone, and never back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.lifecycle import (
    GenerationState,
    GenerationTrigger,
    WorkerState,
    advance_generation,
    may_take_over,
)


@given(st.sampled_from(GenerationState), st.lists(st.sampled_from(GenerationTrigger)))
def test_a_generation_never_goes_back(state: GenerationState, triggers: list[GenerationTrigger]):
    order = [GenerationState.CANDIDATE, GenerationState.CURRENT, GenerationState.DRAINING, GenerationState.GONE]
    for trigger in triggers:
        after = advance_generation(state, trigger)
        assert order.index(after) >= order.index(state)
        state = after


@given(st.lists(st.sampled_from(WorkerState), min_size=1))
def test_only_a_generation_whose_workers_are_all_ready_takes_over(states: list[WorkerState]):
    assert may_take_over(states) == (set(states) == {WorkerState.READY})
