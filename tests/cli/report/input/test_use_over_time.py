"""CPU use as it was between two lines of a recording."""

from __future__ import annotations

from itertools import pairwise
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report.input.use_over_time import SHORTEST_S, UseOverTime, point_groups

TIMES = st.lists(st.floats(0, 100), min_size=1, max_size=60).map(sorted)


def use_of(*lines, name="a"):
    """The use after lines of time and CPU seconds."""
    use = UseOverTime()
    for at, cpu_s in lines:
        use.add(at, 0.0, (0.0, 1.0), {} if cpu_s is None else {name: (cpu_s, 10.0)})
    return use.use()


def percents(*lines):
    found = use_of(*lines)
    return [None if isnan(value) else round(value, 6) for value in found.tracks["a"].cpu_percent]


def test_a_burst_between_two_lines_is_seen():
    """The gauge of each line says 0."""
    assert percents((0, 0.0), (1, 0.387), (2, 0.387)) == [0, 38.7, 0]


def test_the_first_line_counts_from_the_start_of_the_host():
    assert percents((2, 1.0), (4, 1.0)) == [50, 0]


def test_a_count_that_begins_again_is_no_negative_use():
    assert percents((1, 9.0), (2, 0.5), (3, 1.0)) == [900, 50, 50]


def test_an_extension_that_comes_later_has_used_all_since_the_line_before():
    assert percents((1, None), (2, 0.5), (3, None), (4, 0.75)) == [None, 50, None, 25]


def test_lines_that_are_too_close_are_one_point():
    """The last use of a process is only known after its end."""
    found = use_of((0, 0.0), (1, 0.2), (1.01, 0.3))
    assert list(found.times) == [0, 1.01]
    assert found.tracks["a"].cpu_percent[1] == pytest.approx(100 * 0.3 / 1.01)


def test_the_use_of_the_host_before_its_first_line_is_no_burst():
    use = UseOverTime()
    for at in (0.01, 1.0):
        use.add(at, 0.0, (0.6 + at / 10, 1.0), {})
    assert list(use.use().host.cpu_percent) == pytest.approx([0, 10])


def test_a_quiet_time_keeps_the_last_figures():
    use = UseOverTime()
    use.add(1.0, 0.0, (0.0, 1.0), {"a": (1.0, 5.0)})
    use.stay_until(300.0)
    use.add(301.0, 0.0, (0.0, 1.0), {"a": (1.5, 6.0)})
    found = use.use()
    assert list(found.times) == [1, 300, 301]
    assert list(found.tracks["a"].cpu_percent) == [100, 0, 50]
    assert list(found.tracks["a"].rss_bytes) == [5, 5, 6]


@given(TIMES)
def test_every_line_is_in_one_point_and_points_are_apart(times):
    groups = point_groups(times)
    assert [index for first, end in groups for index in range(first, end)] == list(range(len(times)))
    ends = [times[end - 1] for _, end in groups]
    assert all(after - before >= SHORTEST_S for before, after in pairwise(ends))


@given(TIMES, st.data())
def test_all_points_together_have_used_what_was_used(times, data):
    """But for what was used in less than the shortest time after the start."""
    spent = data.draw(st.lists(st.floats(0, 5), min_size=len(times), max_size=len(times)))
    counts = [sum(spent[: index + 1]) for index in range(len(times))]
    found = use_of(*zip(times, counts, strict=True))
    used = sum(percent * span / 100 for percent, span in zip(found.tracks["a"].cpu_percent, found.spans_s, strict=True))
    assert used == pytest.approx(counts[-1], abs=1e-6)
    assert list(found.total.cpu_percent) == pytest.approx(list(found.tracks["a"].cpu_percent))


def test_a_line_that_closely_follows_a_point_belongs_to_it():
    """It may tell of an exit: then the memory just before it is not moved to the next line."""
    assert point_groups([1.0, 1.25, 1.30, 1.55, 1.58, 1.77, 1.80]) == [(0, 1), (1, 3), (3, 5), (5, 7)]
