"""Which figures break a limit, how often they have to, and how rates come from two samples. Without processes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from supervisor.accounting.limits import BREACHES, MIB, SHORTEST_S, LimitReading, TreeUse, add_rates, breaches, judge
from wire.manifest import Limits

QUIET = LimitReading(rss=10 * MIB, cpu_s=1.0, cpu_percent=5.0, processes=1, open_files=20, frames_per_s=10.0)
READINGS = st.builds(
    LimitReading,
    rss=st.integers(0, 10**11),
    cpu_s=st.floats(0, 10**6),
    cpu_percent=st.none() | st.floats(0, 10**4),
    processes=st.integers(0, 10**4),
    open_files=st.none() | st.integers(0, 10**6),
    frames_per_s=st.none() | st.floats(0, 10**7),
)
AMOUNT = st.none() | st.floats(0.001, 10**5)
LIMITS = st.builds(
    Limits,
    rss_mb=AMOUNT,
    cpu_percent=AMOUNT,
    cpu_seconds=AMOUNT,
    processes=st.none() | st.integers(1, 1000),
    open_files=st.none() | st.integers(8, 10**5),
    frames_per_s=AMOUNT,
    breaches=st.none() | st.integers(1, 100),
)
TEXTS = {
    "rss_mb": (Limits(rss_mb=512), replace(QUIET, rss=612 * MIB), "rss 612 MiB over rss_mb 512"),
    "cpu_percent": (Limits(cpu_percent=80), replace(QUIET, cpu_percent=99.6), "cpu 100 % over cpu_percent 80"),
    "cpu_seconds": (Limits(cpu_seconds=2.5), replace(QUIET, cpu_s=2.61), "cpu 2.6 s over cpu_seconds 2.5"),
    "processes": (Limits(processes=4), replace(QUIET, processes=5), "5 processes over processes 4"),
    "open_files": (Limits(open_files=64), replace(QUIET, open_files=65), "65 open files over open_files 64"),
    "frames_per_s": (
        Limits(frames_per_s=100),
        replace(QUIET, frames_per_s=2500.4),
        "2500 frames/s over frames_per_s 100",
    ),
}


def texts(limits: Limits, reading: LimitReading) -> list[str]:
    return [breach.text for breach in breaches(limits, reading)]


@pytest.mark.parametrize("name", TEXTS)
def test_a_breach_says_the_figure_and_the_limit(name: str):
    limits, reading, text = TEXTS[name]
    assert texts(limits, reading) == [text]
    assert texts(limits, QUIET) == []
    assert judge(limits, reading, 2)[1] == f"{text}, in 3 samples in a row"


def test_what_is_as_much_as_allowed_is_allowed():
    limits = Limits(rss_mb=10, cpu_percent=5, cpu_seconds=1, processes=1, open_files=20, frames_per_s=10)
    assert texts(limits, QUIET) == []


def test_a_figure_that_was_not_read_breaks_no_limit():
    blind = replace(QUIET, cpu_percent=None, open_files=None, frames_per_s=None)
    assert texts(Limits(cpu_percent=0.001, open_files=8, frames_per_s=0.001), blind) == []


def test_several_at_once_are_all_said():
    limits = Limits(rss_mb=1, processes=1, breaches=1)
    assert judge(limits, replace(QUIET, processes=2), 0) == (
        1,
        "rss 10 MiB over rss_mb 1; 2 processes over processes 1, in 1 sample in a row",
    )


@given(LIMITS, READINGS)
def test_one_reading_breaks_each_limit_once_at_most_and_none_that_is_not_set(limits: Limits, reading: LimitReading):
    said = texts(limits, reading)
    assert len(set(said)) == len(said)
    for line in said:
        name = line.split(" over ")[1].split()[0]
        assert getattr(limits, name) is not None


@given(READINGS)
def test_without_limits_all_is_well(reading: LimitReading):
    assert judge(Limits(), reading, 99) == (0, None)


@given(LIMITS, st.lists(READINGS, max_size=30))
def test_only_breaches_in_a_row_are_acted_upon(limits: Limits, readings: list[LimitReading]):
    allowed, row, expected = limits.breaches or BREACHES, 0, 0
    for reading in readings:
        broken = list(breaches(limits, reading))
        expected = expected + 1 if broken else 0
        row, figures = judge(limits, reading, row)
        assert row == expected
        gross = any(breach.is_gross for breach in broken)
        assert (figures is not None) is (gross or (bool(broken) and row >= allowed))


@given(LIMITS, READINGS)
def test_more_use_never_breaks_less(limits: Limits, reading: LimitReading):
    more = replace(
        reading,
        **{
            field.name: value * 2 + 1
            for field in fields(LimitReading)
            if (value := getattr(reading, field.name)) is not None
        },
    )
    assert len(texts(limits, more)) >= len(texts(limits, reading))


def test_forking_out_of_hand_is_not_waited_for():
    limits = Limits(processes=10)
    assert judge(limits, replace(QUIET, processes=20), 0) == (1, None)
    assert judge(limits, replace(QUIET, processes=21), 0) == (1, "21 processes over processes 10")


def test_what_the_manifest_leaves_out_comes_from_the_defaults():
    defaults = Limits(rss_mb=100, processes=10, action="stop", breaches=7)
    assert Limits(rss_mb=50).over(defaults) == Limits(rss_mb=50, processes=10, action="stop", breaches=7)
    assert Limits().over(Limits()) == Limits()
    assert Limits(action="restart").over(defaults).action == "restart"


# --- rates ------------------------------------------------------------------------------------------------------


def usage(at: float, cpu_s: float = 0.0, frames_in: int = 0) -> TreeUse:
    return TreeUse(at=at, cpu_s=cpu_s, frames_in=frames_in, rss=1, processes=1)


def test_the_first_sample_has_no_rates():
    seen = add_rates(TreeUse(), usage(10.0, cpu_s=5.0, frames_in=100))
    assert (seen.cpu_percent, seen.frames_per_s) == (None, None)


def test_rates_are_of_the_time_since_the_sample_before():
    seen = add_rates(usage(10.0, 5.0, 100), usage(12.0, 6.0, 300))
    assert (seen.cpu_percent, seen.frames_per_s) == (50.0, 100.0)


def test_a_tree_that_lost_a_part_has_used_no_negative_time():
    assert add_rates(usage(10.0, 5.0), usage(12.0, 1.0)).cpu_percent == 0.0


def test_what_a_part_of_the_tree_took_with_it_is_still_spent():
    seen = TreeUse()
    for at, cpu_s in enumerate([2.0, 12.0, 1.0, 6.0, 6.0]):
        seen = add_rates(seen, usage(float(at), cpu_s))
    assert seen.spent_s == 17.0
    assert seen.reading.cpu_s == 17.0


def test_samples_that_are_asked_for_without_pause_still_come_to_a_rate():
    seen = usage(0.0)
    for step in range(1, 101):
        seen = add_rates(seen, usage(step / 100, cpu_s=step / 100, frames_in=step))
    assert SHORTEST_S > 1 / 100
    assert seen.cpu_percent == pytest.approx(100.0)
    assert seen.frames_per_s == pytest.approx(100.0)


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 100), st.integers(0, 10**6)), min_size=2, max_size=20).map(
        lambda steps: [(sum(step[0] for step in steps[: n + 1]), *steps[n][1:]) for n in range(len(steps))]
    )
)
def test_rates_are_never_negative_where_counts_rise(samples: list[tuple[float, float, int]]):
    seen, frames = TreeUse(), 0
    for at, cpu_s, more in samples:
        frames += more
        seen = add_rates(seen, usage(at, cpu_s, frames))
        assert seen.cpu_percent is None or seen.cpu_percent >= 0
        assert seen.frames_per_s is None or seen.frames_per_s >= 0
