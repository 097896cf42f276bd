from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.pool.run_clock import RunClock

STEPS = st.lists(st.tuples(st.sampled_from(["pause", "resume"]), st.integers(0, 100)), max_size=20)


@given(STEPS)
def test_only_the_time_outside_of_pauses_counts(steps: list[tuple[str, int]]) -> None:
    now, counted, is_paused = 10.0, 0.0, False
    clock = RunClock(now)
    for what, seconds in steps:
        getattr(clock, what)(now)
        is_paused = what == "pause"
        assert clock.is_paused == is_paused
        now += seconds
        counted += 0 if is_paused else seconds
        assert clock.left_s(1000.0, now) == 1000.0 - counted
        assert clock.passed_s(now) == now - 10
        assert clock.paused_s(now) == now - 10 - counted
