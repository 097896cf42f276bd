"""Numbers with units, as people read them: in sentences, on pages, and short in the columns of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import number_format
from cli.number_format import bytes_text, clock_text, count_text, dollars, duration_text, elapsed, plural, short


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
        (number_format.size(999.9 * 2**10), "1000K"),
        (number_format.size(1023.6 * 2**10), "1.0M"),
        (number_format.number(99_999), "99999"),
        (number_format.number(100_000), "100k"),
        (number_format.rate(0.01), "0"),
        (number_format.rate(3.14), "3.1"),
        (number_format.percent(1234.5), "1234"),
        (number_format.milliseconds(None), "-"),
        (number_format.milliseconds(0.0312), "0.03"),
        (number_format.milliseconds(9.96), "10.0"),
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


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (0.00123, "0.0012"), (0.5, "0.5"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (12345, "12,345")],
)
def test_numbers_have_three_digits(value, said):
    assert short(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (43601920, "41.6 MiB"), (2**80, "1,048,576 EiB")],
)
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
        (59.999, "1m"),
        (125, "2m05s"),
        (3600, "1h"),
        (3605, "1h00m05s"),
        (273600, "3d04h"),
        (86400 * 100 + 60, "100d00h01m"),
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


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "$0"),
        (1e-9, "under $0.00001"),
        (0.00003, "$0.00003"),
        (0.00042, "$0.0004"),
        (0.0123, "$0.0123"),
        (12.345, "$12.3"),
        (None, "cost unknown"),
    ],
)
def test_dollars(value, said):
    assert dollars(value) == said


@pytest.mark.parametrize(
    ("said", "wanted"),
    [(plural(0, "call"), "0 calls"), (plural(1, "call"), "1 call"), (plural(2, "entry", "entries"), "2 entries")],
)
def test_plurals(said, wanted):
    assert said == wanted


@given(st.floats(1, 1e12))
def test_columns_and_pages_agree_on_the_unit(value):
    assert number_format.size(value)[-1] == bytes_text(value).split()[-1][0]
