"""Percentiles come from buckets, and counters never go down."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.accounting.account import TRACKED, Account, Histogram, MemoryTrack

DURATIONS = st.lists(st.floats(1e-6, 3600, allow_nan=False), min_size=1, max_size=200)


def histogram(durations: list[float]) -> Histogram:
    made = Histogram()
    for duration in durations:
        made.add(duration)
    return made


@given(DURATIONS, st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_a_percentile_is_off_by_seven_percent_at_most(durations: list[float], fraction: float):
    exact = sorted(durations)[math.ceil(fraction * len(durations)) - 1]
    assert histogram(durations).percentile(fraction) == pytest.approx(exact, rel=0.07)


@given(DURATIONS)
def test_percentiles_rise(durations: list[float]):
    made = histogram(durations)
    p50, p90, p99 = (made.percentile(fraction) for fraction in (0.5, 0.9, 0.99))
    assert p50 <= p90 <= p99


def test_nothing_has_no_percentile():
    assert Histogram().percentile(0.5) is None
    cost = Account().cost("ready")
    assert (cost.p50_ms, cost.p99_ms, cost.exit_status) == (None, None, None)


@pytest.mark.parametrize("odd", [0.0, -1.0, 1e-12, 1e9])
def test_odd_durations_are_counted(odd: float):
    assert histogram([odd]).percentile(0.5) is not None


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 10**9), st.integers(0, 50)), max_size=20))
def test_samples_only_raise(samples: list[tuple[float, int, int]]):
    account, before = Account(), 0.0
    for cpu, rss, processes in samples:
        account.sampled(0.0, cpu, rss, processes)
        assert account.cpu_s >= before
        before = account.cpu_s
        assert account.rss_peak >= rss
        assert account.processes_peak >= processes


def test_the_last_word_on_cpu_is_the_exit_of_each_process():
    account = Account()
    account.sampled(0.0, 2.0, 100, 1)
    account.exited("exit 0", cpu_s=3.0, rss_peak=50)
    assert account.cpu_s == 3.0
    account.sampled(1.0, 1.0, 10, 1)
    account.exited("signal SIGKILL", cpu_s=0.5, rss_peak=700)
    cost = account.cost("exited")
    assert (cost.cpu_ms, cost.rss_peak_bytes, cost.exits, cost.exit_status) == (4000, 700, 2, "signal SIGKILL")


@given(st.lists(st.floats(0.01, 100), max_size=400))
def test_a_track_of_memory_is_bounded_and_reaches_back_to_its_first_sample(steps: list[float]):
    track, now = MemoryTrack(), 5.0
    for number, step in enumerate(steps):
        track.add(now, number)
        now += step
    assert len(track.samples) <= TRACKED
    assert track.samples == sorted(set(track.samples))
    assert track.samples[:1] == ([0] if steps else [])
    assert track.began_at == (5.0 if steps else 0.0)


def test_the_memory_before_the_end_of_a_process_is_forgotten():
    account = Account()
    account.sampled(1.0, 0.0, 100, 1)
    account.exited("exit 1", cpu_s=0.0, rss_peak=100)
    account.sampled(1.2, 0.0, 10, 1)
    assert (account.memory.samples, account.memory.began_at) == ([10], 1.2)


@pytest.mark.parametrize(
    ("last", "peak", "before"),
    [(80, 100, 80), (100, 150, 150), (0, 100, 100)],
    ids=["an old peak says nothing of the end", "a new peak came after the last sample", "it had ended at the sample"],
)
def test_the_memory_just_before_an_exit_is_known(last: int, peak: int, before: int):
    account = Account()
    account.sampled(1.0, 0.0, 100, 1)
    account.sampled(2.0, 0.0, last, 1)
    assert account.take_rss_at_exit() == 0
    account.exited("exit 1", cpu_s=0.0, rss_peak=peak)
    assert account.take_rss_at_exit() == before
    assert account.take_rss_at_exit() == 0
