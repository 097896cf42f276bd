"""Numbers, bytes, times and counts as the report writes them."""

from __future__ import annotations

import pytest
from cli.report.quantities import bytes_text, clock_text, count_text, duration_text, elapsed, short
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (0.00123, "0.0012"), (0.5, "0.5"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (12345, "12,345")],
)
def test_numbers_have_three_digits(value, said):
    assert short(value) == said


@pytest.mark.parametrize(("value", "said"), [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (43601920, "41.6 MiB")])
def test_bytes_have_binary_units(value, said):
    assert bytes_text(value) == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(None, "-"), (0.2139, "214 µs"), (13.6875, "13.7 ms"), (1250, "1.25 s"), (1e6, "1,000 s")],
)
def test_latencies(milliseconds, said):
    assert duration_text(milliseconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.25, "250 ms"),
        (59.99, "60 s"),
        (59.999, "1:00"),
        (125, "2:05"),
        (3725, "1:02:05"),
        (273600, "3 d 4:00:00"),
        (-2, "-2 s"),
        (1e300, "1e+300 s"),
    ],
)
def test_elapsed_times_have_units(seconds, said):
    assert elapsed(seconds) == said


@pytest.mark.parametrize(("value", "said"), [(99_999, "99,999"), (123_456, "123 k"), (12_345_678, "12.3 M")])
def test_counts(value, said):
    assert count_text(value) == said


@pytest.mark.parametrize("beyond", [1e18, -1e18, float("inf"), None])
def test_a_time_outside_the_calendar_is_left_out(beyond):
    assert clock_text(beyond) == ""


@given(st.floats(0, 1e30), st.integers(0, 2**80))
def test_every_quantity_has_words(value, count):
    for said in (short(value), bytes_text(value), duration_text(value), elapsed(value), count_text(count)):
        assert said
        assert len(said) < 60
