"""Numbers as the screens of `zot` show them: short, with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import number_format


@given(st.integers(0, 2**60))
def test_figures_are_short(value):
    assert len(number_format.size(value)) <= 6
    assert len(number_format.number(value)) <= 6
    assert len(number_format.rate(value / 7)) <= 6
    assert len(number_format.milliseconds(min(value, 10**9) / 1000)) <= 6
    assert len(number_format.duration(min(value, 10**9))) <= 7


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number_format.size(0), "0B"),
        (number_format.size(10 * 2**20), "10.0M"),
        (number_format.size(999.9 * 2**10), "1.0M"),
        (number_format.number(99_999), "99999"),
        (number_format.number(100_000), "100k"),
        (number_format.rate(0.01), "0"),
        (number_format.rate(3.14), "3.1"),
        (number_format.percent(1234.5), "1234"),
        (number_format.milliseconds(None), "-"),
        (number_format.milliseconds(0.0312), "0.03"),
        (number_format.milliseconds(9.96), "10"),
        (number_format.milliseconds(1500), "1.5s"),
        (number_format.duration(None), "-"),
        (number_format.duration(59.9), "59s"),
        (number_format.duration(3600), "1h00m"),
        (number_format.duration(90_000), "1d01h"),
        (number_format.sparkline([1, 8], 3), " ▁█"),
        (number_format.sparkline([1, 8], 2, ascii_only=True), "_@"),
        (number_format.sparkline([5, 5], 2), "▁▁"),
        (number_format.sparkline([], 2), "  "),
    ],
)
def test_figures(shown, text):
    assert shown == text
