"""Which failed request is sent once more, and when."""

from __future__ import annotations

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.failure import ErrorKind, ModelError, kind_of_status, retry_after_s, should_retry
from agent.model.worker.retry import LONGEST_WAIT_S, RETRY_AFTER_CAP_S, reason, wait_before_retry


def failure(status: int | None, headers: dict[str, str] | None = None, kind: ErrorKind | None = None) -> ModelError:
    given = headers or {}
    kind = kind or kind_of_status(status or 0)
    return ModelError(kind, "", status=status, retry_after=retry_after_s(given), should_retry=should_retry(given))


def wait(failed: ModelError, retries: int = 0, of: int = 2, chance: float = 0.0) -> float | None:
    return wait_before_retry(failed, retries=retries, of=of, chance=chance)


@pytest.mark.parametrize(("status", "again"), [(408, True), (409, True), (429, True), (500, True), (503, True),
    (529, True), (400, False), (401, False), (403, False), (404, False), (307, False)])  # fmt: skip
def test_the_statuses_that_the_sdk_tries_again(status, again):
    assert (wait(failure(status)) is not None) is again
    assert wait(failure(status, {"x-should-retry": "true"})) is not None
    assert wait(failure(status, {"x-should-retry": "false"})) is None


@pytest.mark.parametrize("again", ["true", "false"])
def test_a_request_that_is_too_long_is_not_tried_again_whatever_the_server_says(again):
    assert wait(failure(413, {"x-should-retry": again})) is None
    assert wait(failure(500, {"x-should-retry": again}, kind=ErrorKind.TOO_LONG)) is None


@pytest.mark.parametrize("kind", ErrorKind)
@pytest.mark.parametrize("status", [None, 400])
def test_connections_silence_and_too_much_to_do_are_tried_again_whatever_the_status(kind, status):
    again = kind in (ErrorKind.CONNECTION, ErrorKind.TIMEOUT, ErrorKind.OVERLOADED)
    assert (wait(failure(status, kind=kind)) is not None) is again


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "4"}, 4.0),
        ({"retry-after": "4", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "4"}, 4.0),
        ({"retry-after": "60"}, RETRY_AFTER_CAP_S),
        ({"retry-after": "61"}, None),
        ({"retry-after": "604800"}, None),
        ({"retry-after": "604801"}, 0.5),
        ({"retry-after": "inf"}, 0.5),
        ({"retry-after": "1e999"}, 0.5),
        ({"retry-after": "inf", "retry-after-ms": "1e999"}, 0.5),
        ({"retry-after": "4", "retry-after-ms": "-1"}, 4.0),
        ({"retry-after": "3, 4"}, 0.5),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 0.5),
        ({"retry-after": "0"}, 0.5),
        ({"retry-after": "-5"}, 0.5),
        ({"retry-after": "nan"}, 0.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.5),
        ({"retry-after": "Thu, 01 Jan 0001 00:00:00 -0000"}, 0.5),
        ({"retry-after": "later"}, 0.5),
        ({"retry-after": ""}, 0.5),
        ({}, 0.5),
    ],
)
def test_the_wait_that_the_server_asks_for(headers, expected):
    assert wait(failure(429, headers)) == expected


def test_without_such_a_wish_each_wait_is_twice_the_one_before():
    assert [wait(failure(500), retries, of=9) for retries in range(6)] == [0.5, 1, 2, 4, 8, 8]
    assert wait(failure(500), 0, chance=1) == 0.375


def test_no_more_than_so_many():
    assert wait(failure(500), 2, of=2) is None
    assert wait(failure(500), 0, of=0) is None


@given(
    st.sampled_from([None, 200, 307, 400, 408, 409, 418, 429, 500, 529, 599]),
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-should-retry"]),
        st.one_of(
            st.text(max_size=40),
            st.floats().map(str),
            st.integers().map(str),
            st.datetimes().map(lambda at: at.strftime("%a, %d %b %Y %H:%M:%S GMT")),
        ),
    ),
    st.integers(0, 2000),
    st.integers(0, 2000),
    st.floats(0, 1),
)
def test_a_wait_is_never_negative_nor_endless(status, headers, retries, of, chance):
    kind = ErrorKind.CONNECTION if status is None else None
    found = wait(failure(status, headers, kind), retries, of, chance)
    if found is not None:
        assert retries < of
        assert 0 < found <= max(RETRY_AFTER_CAP_S, LONGEST_WAIT_S)
    seconds = retry_after_s(headers)
    assert seconds is None or (isfinite(seconds) and seconds >= 0), "JSON has no other numbers"


def test_the_reasons():
    assert [reason(failure(status)) for status in (429, 529, 503, 408, 409)] == [
        "rate limited", "overloaded", "server error", "no answer in time", "refused for now",
    ]  # fmt: skip
