"""Heads of HTTP requests, from programs that scrape and from those that mean harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.fleet.http_head import (
    HEAD_LIMIT,
    REASONS,
    HeadReader,
    Refusal,
    Request,
    head,
    is_local_host,
    prefers_openmetrics,
)

OF_PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


def read(*lines: str) -> Request | Refusal | None:
    reader = HeadReader()
    found = None
    for line in lines:
        found = reader.feed(line.encode() + b"\r")
        if found is not None:
            return found
    return found


def test_a_request_of_a_scraper():
    found = read("GET /metrics?a=b HTTP/1.1", "Host: localhost:9469", f"Accept: {OF_PROMETHEUS}", "")
    assert found == Request("GET", "/metrics", wants_openmetrics=True, keeps_open=True, host="localhost:9469")


def test_lines_may_end_without_a_carriage_return_and_begin_with_an_empty_one():
    reader = HeadReader()
    assert [reader.feed(line) for line in (b"", b"HEAD / HTTP/1.0")] == [None, None]
    assert reader.feed(b"") == Request("HEAD", "/", wants_openmetrics=False, keeps_open=False)


@pytest.mark.parametrize(
    ("version", "header", "keeps_open"),
    [
        ("HTTP/1.1", "X: y", True),
        ("HTTP/1.1", "Connection: close", False),
        ("HTTP/1.1", "connection: TE, Close", False),
        ("HTTP/1.0", "X: y", False),
        ("HTTP/1.0", "Connection: keep-alive", True),
    ],
)
def test_who_may_ask_again(version: str, header: str, keeps_open: bool):
    found = read(f"GET / {version}", header, "")
    assert isinstance(found, Request)
    assert found.keeps_open is keeps_open


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["hello"], 400),
        (["\x16\x03\x01\x02"], 400),  # TLS
        (["GET /metrics"], 400),
        (["GET  /metrics HTTP/1.1"], 400),
        (["GET http://localhost/metrics HTTP/1.1"], 400),
        (["GET / HTTP/2"], 505),
        (["PRI * HTTP/2.0"], 505),
        (["GET / HTTP/1.1", " folded: x"], 400),
        (["GET / HTTP/1.1", "no colon"], 400),
        (["GET / HTTP/1.1", "Name : x"], 400),
        (["GET / HTTP/1.1", "Content-Length: 5", ""], 400),
        (["GET / HTTP/1.1", "Transfer-Encoding: chunked", ""], 400),
        (["POST / HTTP/1.1", "Content-Length: 5", ""], 405),
        (["GET / HTTP/1.1", *[f"X-{number}: {'y' * 100}" for number in range(HEAD_LIMIT // 100)]], 431),
    ],
)
def test_a_head_that_is_refused(lines: list[str], status: int):
    found = read(*lines)
    assert isinstance(found, Refusal)
    assert found.status == status


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/plain", False),
        (OF_PROMETHEUS, True),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=0.3,text/plain;q=0.5", False),
        ("application/openmetrics-text; version=oh; q=x", False),
    ],
)
def test_the_format_that_a_reader_prefers(accept: str, wanted: bool):
    assert prefers_openmetrics(accept) is wanted


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_lines_are_a_request_a_refusal_or_an_unfinished_head(lines: list[bytes]):
    reader = HeadReader()
    for line in lines:
        found = reader.feed(line.replace(b"\n", b""))
        if isinstance(found, Refusal):
            assert found.status in REASONS
        if found is not None:
            return


@given(st.text(max_size=100))
def test_any_accept_header_chooses_a_format(accept: str):
    prefers_openmetrics(accept)


@pytest.mark.parametrize(
    ("field", "is_local"),
    [
        ("", True),
        ("127.0.0.1:9469", True),
        ("[::1]:9469", True),
        ("LocalHost.", True),
        ("mine.example:9469", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example:9469", False),
        ("localhost.evil.example", False),
        ("[evil.example]:9469", False),
        ("localhost, evil.example", False),
    ],
)
def test_the_host_that_a_request_names(field: str, is_local: bool):
    assert is_local_host(field, "Mine.example") is is_local


@given(st.text(max_size=100))
def test_any_host_is_judged(field: str):
    is_local_host(field, "")


def test_the_head_of_an_answer():
    assert head(405, "text/plain", 3, keeps_open=False) == (
        b"HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nAllow: GET, HEAD\r\n"
        b"Connection: close\r\n\r\n"
    )
