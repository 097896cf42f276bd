"""Kinds of failure by status and by name, and the pause that a server asks for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.failure import LONGEST_RETRY_AFTER_S, kind_of_status, kind_of_type, retry_after_s


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "20", "retry-after": "9"}, 0.02),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_the_retry_after_header_gives_seconds(headers: dict, seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_a_retry_after_date_gives_seconds() -> None:
    from email.utils import formatdate

    seconds = retry_after_s({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert seconds is not None
    assert 95 < seconds <= 100


@given(st.text(max_size=40) | st.floats().map(repr) | st.datetimes().map(lambda at: at.strftime("%a, %d %b %Y %T GMT")))
def test_any_header_gives_a_wait_that_is_believable_or_none(value: str) -> None:
    for name in ("retry-after", "retry-after-ms"):
        seconds = retry_after_s({name: value})
        assert seconds is None or 0 < seconds <= LONGEST_RETRY_AFTER_S


@given(st.integers(300, 599), st.none() | st.text(max_size=5))
def test_every_status_and_every_name_has_a_kind(status: int, name: str | None) -> None:
    assert kind_of_status(status, name)
    assert kind_of_type(name or "")
