"""An extension is idle only after its time without anything pending and anything new, for every history of looks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.lazy.idle_watch import IdleWatch

LOOKS = st.lists(st.tuples(st.floats(0.01, 5), st.integers(0, 2), st.booleans()), max_size=50)
"""Seconds since the look before, new requests and events since then, and whether something is pending."""


@given(st.floats(0.01, 20), LOOKS)
def test_it_is_idle_exactly_if_the_looks_of_its_time_saw_nothing(idle_s: float, looks: list[tuple[float, int, bool]]):
    now, activity = 100.0, 7
    watch = IdleWatch(idle_s, now, activity)
    since = now
    for seconds, new, is_busy in looks:
        now, activity = now + seconds, activity + new
        if new or is_busy:
            since = now
        assert watch.is_idle(now, activity, is_busy=is_busy) == (now - since >= idle_s)


@given(st.floats(0.01, 20), st.floats(0, 1))
def test_with_regular_looks_it_is_idle_within_the_time_and_one_look(idle_s: float, part: float):
    watch = IdleWatch(idle_s, 0.0, 0)
    last = part * watch.every_s
    looks = [number * watch.every_s for number in range(1, 12)]
    found = next(at for at in looks if watch.is_idle(at, 1, is_busy=False))
    assert idle_s <= found - last <= idle_s + 2 * watch.every_s
