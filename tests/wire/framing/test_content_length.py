"""The splitter of messages with headers: whole messages, other text around them, broken headers, and bounds."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.framing import COPIED, PREFIX_KEPT, Oversize
from wire.framing.content_length import ContentSplitter, add_header
from wire.framing.length_headers import BODY_START, MOST, PLAIN, STEPS_LIMIT, STRAY_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMIT = 700
LONG = 2_000


def limit_of(start: bytes) -> int:
    return LONG if b"long" in start else LIMIT


def message(number: int, text: str = "") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": text}, separators=(",", ":")).encode()


def found_in(chunks: Iterable[bytes]) -> list[Any]:
    splitter = ContentSplitter(LIMIT, limit_of)
    found: list[Any] = []
    for chunk in chunks:
        found += splitter.feed(chunk)
    while splitter.has_more:
        found += splitter.feed(b"")
    rest = splitter.finish()
    return [
        bytes(each) if isinstance(each, bytearray) else each for each in (*found, *([] if rest is None else [rest]))
    ]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(ends)]


def by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


ONE, TWO = message(1), message(2, "two")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (add_header(ONE), [ONE]),
        (add_header(ONE) + add_header(TWO), [ONE, TWO]),
        (b"content-length:%d\n\n%b" % (len(ONE), ONE), [ONE]),
        (b"Content-Length: %d\r\nContent-Type: a/b; charset=utf-8\r\n\r\n%b" % (len(ONE), ONE), [ONE]),
        (b"Content-Type: a/b\r\nContent-Length: %d\r\n\r\n%b" % (len(ONE), ONE), [ONE]),
        (b"hello\n" + add_header(ONE), [b"hello", ONE]),
        (b"hello\r\n\nthere\n" + add_header(ONE), [b"hello\r", b"there", ONE]),
        (b"no line feed" + add_header(ONE) + b"more" + add_header(TWO), [b"no line feed", ONE, b"more", TWO]),
        (add_header(b'{\n "id": 1\n}') + add_header(ONE), [b'{\n "id": 1\n}', ONE]),
        (add_header(b'  {"id":1} \n') + add_header(ONE), [b'  {"id":1} \n', ONE]),
        (add_header('{"id":"ä\u2028"}'.encode()), ['{"id":"ä\u2028"}'.encode()]),
        # Text between a header and its body.
        (b"Content-Length: %d\r\n\r\nhello\n%b" % (len(ONE), ONE) + add_header(TWO), [b"hello", ONE, TWO]),
        (b"Content-Length: %d\r\n\r\n{ a: 1 }\n%b" % (len(ONE), ONE) + add_header(TWO), [b"{ a: 1 }", ONE, TWO]),
        # Headers that are none.
        (b"Content-Length: 500\r\n\r\nhello\n" + add_header(ONE), [b"Content-Length: 500\r", b"hello", ONE]),
        (b"Content-Length: 500\r\n\r\n{}" + add_header(ONE), [b"Content-Length: 500\r", b"{}", ONE]),
        (b"Content-Length: 2\r\n\r\nok" + add_header(ONE), [b"Content-Length: 2\r", b"ok", ONE]),
        (b"Content-Length: 99\r\nContent-Length: %d\r\n\r\n%b" % (len(ONE), ONE), [b"Content-Length: 99\r", ONE]),
        (b"Content-Length: 99 bytes\r\n\r\n" + add_header(ONE), [b"Content-Length: 99 bytes\r", ONE]),
        (b"Content-Length: -5\r\n\r\n" + add_header(ONE), [b"Content-Length: -5\r", ONE]),
        (b"Content-Length: \r\n\r\n" + add_header(ONE), [b"Content-Length: \r", ONE]),
        (b"Content-Length: 0\r\n\r\n" + add_header(ONE), [b"Content-Length: 0\r", ONE]),
        (b"Content-Length: 1e3\r\n\r\n" + add_header(ONE), [b"Content-Length: 1e3\r", ONE]),
        (b"Content-Length: %d\r\n\r\n" % (MOST + 1) + add_header(ONE), [b"Content-Length: %d\r" % (MOST + 1), ONE]),
        (
            b"Content-Length: " + b"9" * 40 + b"\r\n\r\n" + add_header(ONE),
            [b"Content-Length: " + b"9" * 40 + b"\r", ONE],
        ),
        (b"Content-Length: 9\r\nplain words\n" + add_header(ONE), [b"Content-Length: 9\r", b"plain words", ONE]),
        # The rest.
        (b"half a line", [b"half a line"]),
        (b"Content-Length: 40\r\n\r\n", [b"Content-Length: 40\r"]),
        (b'Content-Length: 50\r\n\r\n{"a"', [b'Content-Length: 50\r{"a"']),
        (b"", []),
    ],
)  # fmt: skip
def test_messages_and_text_are_told_apart_however_they_are_cut(said: bytes, expected: list[bytes]) -> None:
    assert found_in([said]) == expected
    assert found_in(by_byte(said)) == expected


def test_a_message_in_two_writes_is_returned_with_the_second() -> None:
    splitter = ContentSplitter()
    header, body = add_header(ONE)[: -len(ONE)], add_header(ONE)[-len(ONE) :]
    assert splitter.feed(header) == []
    assert splitter.feed(body) == [ONE]
    assert splitter.feed(add_header(TWO)) == [TWO]


def test_a_false_header_holds_up_no_later_message() -> None:
    splitter = ContentSplitter()
    for number in range(3):
        splitter.feed(b"Content-Length: 5000\r\n\r\n{")
        assert splitter.feed(add_header(message(number)))[-1] == message(number)


def test_a_body_over_the_limit_is_dropped_with_its_ends() -> None:
    body = message(3, "x" * (LIMIT + 100))
    dropped, behind = found_in([add_header(body) + add_header(ONE)])
    assert dropped == Oversize(len(body), body[:PREFIX_KEPT], LIMIT, body[-PREFIX_KEPT:])
    assert behind == ONE
    assert found_in(by_byte(add_header(body) + add_header(ONE))) == [dropped, behind]


def test_the_limit_depends_on_how_a_body_begins() -> None:
    body, longer = message(3, "long" + "x" * (LONG - 100)), message(3, "long" + "x" * LONG)
    assert found_in([add_header(body)]) == [body]
    (dropped,) = found_in(by_byte(add_header(longer)))
    assert (dropped.size, dropped.limit) == (len(longer), LONG)


@pytest.mark.parametrize("behind", [b"", add_header(ONE), b"text\n"])
@pytest.mark.parametrize("size", [COPIED - 50, COPIED, 3 * COPIED])
def test_long_bodies_are_whole_whatever_follows_them(size: int, behind: bytes) -> None:
    body = message(9, "x" * size)
    splitter = ContentSplitter(10 * COPIED)
    data = add_header(body) + behind
    found: list[Any] = []
    for at in range(0, len(data), 7_000):
        found += splitter.feed(data[at : at + 7_000])
    assert (bytes(found[0]), len(found)) == (body, 2 if behind else 1)
    assert splitter.feed(add_header(TWO)) == [TWO]
    assert splitter.pending == 0


def test_a_header_in_a_body_that_is_dropped_ends_it() -> None:
    said = b"Content-Length: 100000\r\n\r\n{" + b"x" * 900 + add_header(ONE)
    dropped, behind = found_in([said])
    assert (dropped.size, dropped.prefix[:2], behind) == (901, b"{x", ONE)
    assert found_in(by_byte(said)) == [dropped, behind]


def test_a_long_line_of_text_is_dropped_but_not_the_header_at_its_end() -> None:
    said = b"x" * 5_000 + add_header(ONE)
    dropped, behind = found_in([said])
    assert (dropped.size, dropped.limit, len(dropped.suffix), behind) == (5_000, LIMIT, PREFIX_KEPT, ONE)
    assert found_in(by_byte(said)) == [dropped, behind]


def test_memory_is_bounded_by_the_limit() -> None:
    splitter = ContentSplitter(LIMIT, limit_of)
    for start in (b"x", b"\n" + add_header(message(1, "long" + "x" * 10_000)), b"\nContent-Length: 900000\r\n\r\n{"):
        splitter.feed(start)
        for _ in range(50):
            splitter.feed(b"x" * 1_000)
            assert splitter.pending <= LONG + STRAY_LIMIT


def test_many_places_that_look_like_a_body_are_not_all_tried() -> None:
    said = b"Content-Length: 600\r\n\r\nstray\n" + BODY_START * 50 + b"\n" + add_header(ONE)
    assert found_in([said])[-1] == ONE
    assert found_in(by_byte(said)) == found_in([said])


@pytest.mark.parametrize("line", [b"Content-Length: 99\n", b"\n", b"a line of plain text\n", b"content-type: x\r\n"])
def test_a_body_that_turns_out_to_be_text_is_returned_in_parts(line: bytes) -> None:
    """Six million bytes of it would else hold up whoever reads them for seconds."""
    said = b'{"jsonrpc":"2.0",\n' + line * (1_000_000 // len(line)) + b"}"
    splitter = ContentSplitter(2_000_000)
    whole = add_header(said)
    counts = [len(splitter.feed(whole[at : at + 1_000])) for at in range(0, len(whole), 1_000)]
    while splitter.has_more:
        held = splitter.pending
        counts.append(len(splitter.feed(b"")))
        assert splitter.pending < held
    assert max(counts) <= STEPS_LIMIT + PLAIN // len(line)
    assert len(counts) > 1_003, "it takes more than a few calls"
    assert splitter.feed(b"\n" + add_header(ONE))[-1] == ONE


PIECES = st.one_of(
    st.builds(add_header, st.builds(message, st.integers(0, 99), st.text(max_size=20))),
    st.builds(add_header, st.builds(message, st.integers(0, 99), st.sampled_from(["x" * 900, "long" + "x" * 900]))),
    st.sampled_from([b"Content-Length: ", b"%d" % len(ONE), b"\r\n\r\n", b"\n", b"\n\n", b"{", b"}", BODY_START, ONE]),
    st.sampled_from([b"content-type: a\r\n", b"X: y\r\n", b" ", b"x" * 600, b"Content-Length: 40\r\n\r\n"]),
    st.builds(lambda n: b"Content-Length: %d\r\n\r\n{" % n, st.integers(0, 3000)),
    st.binary(max_size=20),
)


@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 4_000), max_size=12))
def test_the_result_does_not_depend_on_the_chunks(pieces: list[bytes], places: list[int]) -> None:
    data = b"".join(pieces)
    assert found_in(cut(data, places)) == found_in([data])


@given(st.lists(PIECES, max_size=6))
def test_nor_on_single_bytes(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    assert found_in(by_byte(data)) == found_in([data])


NOISE = st.binary(max_size=40).filter(lambda noise: b":" not in noise and b"{" not in noise)


@given(st.lists(st.tuples(NOISE, st.text(max_size=200)), max_size=8), st.lists(st.integers(0, 4_000), max_size=8))
def test_all_messages_between_other_text_are_found(said: list[tuple[bytes, str]], places: list[int]) -> None:
    messages = [message(number, text) for number, (_, text) in enumerate(said)]
    data = b"".join(noise + add_header(each) for (noise, _), each in zip(said, messages, strict=True))
    found = [each for each in found_in(cut(data, places)) if isinstance(each, bytes) and each.startswith(BODY_START)]
    assert found == [each for each in messages if len(each) <= LIMIT]
