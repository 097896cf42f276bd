"""Samples of an extension thinned to few points of a line."""

from __future__ import annotations

import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report.input.recorded_run import ABSENT, ExtensionFigures, Track
from cli.report.run.series import heaviest, point_groups, thin_out, zeros_last

TIMES = st.lists(st.floats(0, 1e6), min_size=1, max_size=200).map(sorted)


def track(cpu, rss=None):
    return Track(array("d", cpu), array("d", cpu if rss is None else rss))


@given(TIMES, st.integers(1, 50))
def test_every_sample_is_in_one_point_and_points_are_few(times, most):
    groups = point_groups(times, most)
    assert len(groups) <= most
    assert [index for first, end in groups for index in range(first, end)] == list(range(len(times)))
    assert all(first < end for first, end in groups)


def test_few_samples_are_their_own_points():
    assert point_groups([1.0, 2.0, 9.0], 3) == [(0, 1), (1, 2), (2, 3)]


def test_points_are_equal_stretches_of_time_not_of_samples():
    assert point_groups([0.0, 0.1, 0.2, 0.3, 10.0], 2) == [(0, 4), (4, 5)]


def test_samples_at_one_moment_are_one_point():
    assert point_groups([5.0] * 10, 4) == [(0, 10)]


def test_a_point_has_mean_processor_time_and_highest_memory():
    line = thin_out(track([10, 30, 2], [1, 5, 3]), [(0, 2), (2, 3)], [1.0, 3.0, 1.0])
    assert line.cpu_percent == (25, 2), "a long sample counts for more"
    assert line.rss_bytes == (5, 3)


def test_absence_is_not_zero():
    line = thin_out(track([ABSENT, ABSENT, ABSENT, 8]), [(0, 2), (2, 4)], [1.0] * 4)
    assert line.cpu_percent == (None, 8)


def test_the_heaviest_by_processor_or_memory_come_first():
    figures = [
        ExtensionFigures("idle", cpu_s=0.1),
        ExtensionFigures("cpu", cpu_s=9.0),
        ExtensionFigures("memory", cpu_s=0.1),
        ExtensionFigures("unseen"),
    ]
    tracks = {"idle": track([0, 0], [1, 1]), "cpu": track([0, 0], [1, 1]), "memory": track([0, 0], [ABSENT, 900])}
    assert heaviest(figures, tracks) == ["memory", "cpu", "idle"]


def test_nan_never_leaves():
    line = thin_out(track([ABSENT, 1]), [(0, 2)], [1.0, 1.0])
    assert not any(value is not None and math.isnan(value) for value in line.cpu_percent)
    assert line.cpu_percent == pytest.approx((1,))


def test_lines_that_lie_at_zero_in_both_charts_come_last():
    tracks = {
        "idle": track([0, 1], [1, 2]), "busy": track([90, 0], [1, 1]), "absent": track([ABSENT, ABSENT]),
        "big": track([0, 0], [100, 100]),
    }  # fmt: skip
    assert zeros_last(list(tracks), tracks) == (["busy", "big", "idle", "absent"], 2)
    alike = {name: track([0, 0], [0, 0]) for name in "ab"}
    assert zeros_last(list(alike), alike) == (["a", "b"], 0)
    assert zeros_last([], {}) == ([], 0)
