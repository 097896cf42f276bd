"""Lengths of time on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.duration import ACCEPTED, limit_from, seconds_from


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        ("1.5", 1.5),
        (".5", 0.5),
        ("0", 0),
        ("500ms", 0.5),
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1d", 86_400),
        ("1d2h3m4s500ms", 93_784.5),
        ("1.5h", 5400),
    ],
)
def test_lengths_of_time(text, seconds):
    assert seconds_from(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "x", "inf", "nan", "infs", "-1", "-5m", "+5", "1e3", "0x10", "1_000", "5 m", "5m\n", "5M", "m", "."),
        *("30m1h", "1h1h", "1h30", "1.2.3", "٣"),
    ],
)
def test_what_is_no_length_of_time(text):
    with pytest.raises(ValueError, match="is not a length of time: write ") as raised:
        seconds_from(text)
    assert str(raised.value).endswith(ACCEPTED)


@pytest.mark.parametrize("text", ["9" * 400, "9" * 400 + "h", "40000d"])
def test_more_than_a_hundred_years(text):
    with pytest.raises(ValueError, match="more than a hundred years"):
        seconds_from(text)


@given(st.text(alphabet="0123456789.dhms -+e", max_size=12))
def test_it_is_a_number_of_seconds_or_an_error(text):
    try:
        seconds = seconds_from(text)
    except ValueError:
        return
    assert 0 <= seconds <= 100 * 365 * 86_400


@given(*[st.integers(0, 99)] * 5)
def test_units_add_up(days, hours, minutes, seconds, milliseconds):
    text = f"{days}d{hours}h{minutes}m{seconds}s{milliseconds}ms"
    expected = ((days * 24 + hours) * 60 + minutes) * 60 + seconds + milliseconds / 1000
    assert seconds_from(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["0", "0s", ".0ms"])
def test_a_limit_leaves_time_to_run(text):
    with pytest.raises(ValueError, match="leaves no time to run"):
        limit_from(text)
    assert limit_from("1ms") == 0.001
