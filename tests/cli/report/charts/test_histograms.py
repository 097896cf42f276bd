"""Bars of latencies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.report.charts.histograms import bars, histograms, upper_end
from cli.report.reading.recording import Figures


@given(st.floats(0, 1e9))
def test_a_bar_ends_at_the_time_that_it_holds_or_later(upper):
    (bar,) = bars([(upper, 3)])
    assert upper_end(bar) >= min(upper, 1e9) * 0.999


@given(st.lists(st.tuples(st.floats(min_value=0), st.integers(1, 9)), min_size=1, max_size=4), st.floats(min_value=0))
def test_times_of_a_damaged_recording_are_drawn_within_bounds(latency, p50):
    page = histograms([Figures("x", latency_ms=tuple(latency), p50_ms=p50, p99_ms=p50)], {"x": "x"})
    assert "<section" in page
    assert len(page) < 50_000
