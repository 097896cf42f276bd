"""Figures as words, and the parts of a line that fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyzot.events import Result
from pyzot.parts import Totals
from pyzot.screen.view.figures import count, dollars, duration, joined, summary
from pyzot.screen.view.text import width_of


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (0.9, "0 s"), (59.9, "59 s"), (60, "1:00"), (245, "4:05"), (3599, "59:59"), (3723, "1:02:03")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345, "12.3k"), (1_200_000, "1.20M")]
)
def test_counts(number, words):
    assert count(number) == words


@pytest.mark.parametrize(("amount", "words"), [(None, "$?"), (0, "$0.0000"), (0.0123, "$0.0123"), (1, "$1.00")])
def test_dollars(amount, words):
    assert dollars(amount) == words


def result(status="ok", steps=1, duration_ms=1500, cost_usd=None):
    usage = Totals(1, 2, 3, 4)
    return Result(status, 0, "", "", steps, usage, cost_usd, duration_ms, "", {})


def test_the_end_of_a_prompt():
    assert summary(result()) == "─ 1.5 s · 1 turn · 10 tokens · $?"
    assert summary(result("interrupted", 2, 125_000, 0.5)) == "─ 2:05 · 2 turns · 10 tokens · $0.5000"
    assert summary(result("max_turns")).startswith("─ ✗ max_turns · ")


@given(st.lists(st.sampled_from(["", "a", "漢字", "word " * 3])), st.integers(0, 40))
def test_the_first_parts_that_fit_are_joined(parts, columns):
    line = joined(parts, columns)
    assert width_of(line) <= columns
    assert " · ".join(filter(None, parts)).startswith(line)
