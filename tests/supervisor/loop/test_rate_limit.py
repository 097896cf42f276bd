"""Notes are admitted in a burst and then at a steady rate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.loop.rate_limit import BURST, PER_SECOND, TokenBucket

PAUSES = st.lists(st.floats(0, 2, allow_subnormal=False), max_size=300)


@given(PAUSES, st.integers(1, 30), st.floats(0.5, 50))
def test_never_more_than_the_burst_and_the_rate_allow(pauses: list[float], burst: int, rate: float):
    now, gate, admitted = 0.0, TokenBucket(0.0, burst, rate), []
    for pause in pauses:
        now += pause
        if gate.admits(now):
            admitted.append(now)
    for first, start in enumerate(admitted):
        for last in range(first, len(admitted)):
            assert last - first + 1 <= burst + (admitted[last] - start) * rate + 1e-6


def test_the_burst_comes_through_at_once_and_no_more():
    gate = TokenBucket(100.0)
    assert [gate.admits(100.0) for _ in range(BURST + 3)] == [True] * BURST + [False] * 3


def test_a_slow_sender_is_never_held_up():
    gate = TokenBucket(0.0)
    assert all(gate.admits(second / PER_SECOND * 1.001) for second in range(1, 500))


def test_silence_does_not_save_up_more_than_a_burst():
    gate = TokenBucket(0.0)
    assert sum(gate.admits(10_000.0) for _ in range(100)) == BURST


def test_a_clock_that_stands_or_goes_back_gives_nothing():
    gate = TokenBucket(10.0, burst=1, per_second=1.0)
    assert gate.admits(10.0)
    assert not gate.admits(10.0)
    assert not gate.admits(5.0)
    assert gate.admits(11.0)
