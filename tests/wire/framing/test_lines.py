"""The splitter gives the same lines for any chunks, has bounded memory, and names the lines that it drops."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wire.framing import (
    CROWD,
    DEFAULT_FRAME_LIMIT,
    PREFIX_KEPT,
    SHORTEST_FRAME,
    LineSplitter,
    Oversize,
    drop_lines,
    drop_scraps,
)

STREAM = st.lists(st.sampled_from([b"\n", b"\n\n", b"\r\n", b"a", b"bc", b"\xe2\x80\xa8", b"\xff", b"x" * 30])).map(
    b"".join
)


def split_by_model(data: bytes, limit: int) -> tuple[list[bytes | Oversize], bytes | Oversize | None]:
    def judge(line: bytes) -> bytes | Oversize:
        return (
            line
            if len(line) <= limit
            else Oversize(len(line), line[: min(PREFIX_KEPT, limit)], limit, line[-PREFIX_KEPT:])
        )

    *whole, rest = data.split(b"\n")
    return [judge(line) for line in whole], judge(rest) if rest else None


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    at = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(at)]


@given(
    data=STREAM | st.binary(max_size=200), cuts=st.lists(st.integers(0, 10_000), max_size=12), limit=st.integers(1, 40)
)
@example(data=b"abc\ndef", cuts=[4], limit=3)
@example(data=b"abcd", cuts=[1, 2, 3], limit=3)
def test_any_chunks_give_the_lines_of_the_whole(data: bytes, cuts: list[int], limit: int):
    splitter = LineSplitter(limit)
    lines = [line for piece in pieces(data, cuts) for line in splitter.feed(piece)]
    assert (lines, splitter.finish()) == split_by_model(data, limit)


@given(data=STREAM, cuts=st.lists(st.integers(0, 10_000), max_size=12), limit=st.integers(1, 40))
def test_held_bytes_stay_within_the_limit(data: bytes, cuts: list[int], limit: int):
    splitter = LineSplitter(limit)
    for piece in pieces(data, cuts):
        splitter.feed(piece)
        assert splitter.pending <= max(limit, min(PREFIX_KEPT, limit))


def test_a_line_without_end_costs_no_more_than_the_limit():
    splitter = LineSplitter(1024 * 1024)
    chunk = b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(1600):  # 100 MiB
            assert splitter.feed(chunk) == []
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
    finally:
        tracemalloc.stop()
    (line,) = splitter.feed(b"\n")
    assert isinstance(line, Oversize)
    assert (line.size, len(line.prefix)) == (1600 * 65536, PREFIX_KEPT)
    assert splitter.feed(b"fine\n") == [b"fine"]


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize("chunk", [1, 7, 100, 10_000])
def test_the_limit_is_exact_and_does_not_count_the_line_feed(over: int, chunk: int):
    splitter = LineSplitter(100)
    data = b"y" * (100 + over) + b"\nnext\n"
    lines = [line for at in range(0, len(data), chunk) for line in splitter.feed(data[at : at + chunk])]
    assert [isinstance(line, Oversize) for line in lines] == [bool(over), False]


def test_a_frame_limit_of_nothing_is_refused():
    with pytest.raises(ValueError, match="positive, not 0"):
        LineSplitter(0)


def test_only_a_line_feed_ends_a_line():
    separators = "\u2028\u2029\x85\x0b\x0c\x1c\r"
    text = json.dumps({"text": separators}, ensure_ascii=False).encode()
    assert LineSplitter().feed(text + b"\r\n") == [text + b"\r"], "the CR is white space to a JSON reader"
    assert json.loads(LineSplitter().feed(text + b"\n")[0]) == {"text": separators}


def oversize(frame: str | bytes) -> Oversize:
    data = frame.encode() if isinstance(frame, str) else frame
    (line,) = LineSplitter(64).feed(data.ljust(2000) + b"\n")
    assert isinstance(line, Oversize)
    return Oversize(line.size, data[:PREFIX_KEPT], 64, line.suffix)


@pytest.mark.parametrize(
    ("frame", "kind", "call"),
    [
        ('{"type":"tool_result","id":"7","content":[{"type":"text","text":"xxxx', "tool_result", "7"),
        ('  { "id" : "7" , "is_error" : true, "n" : -1.5e3, "type" : "tool_result" , "content":[', "tool_result", "7"),
        ('{"content":[{"type":"text","id":"9","text":"xxxx', None, None),
        ('{"type":"tool_result","content":[],"id":"7"', "tool_result", None),
        ('{"type":"tool_result","id":7,"content":"', "tool_result", None),
        ('{"note":"\\"type\\":\\"x\\"","type":"y"', None, None),
        ('[{"type":"tool_result"', None, None),
        ("plain text, {", None, None),
        (b'\xff\xfe{"type":"x"', None, None),
        ("{", None, None),
    ],
)
def test_an_oversize_frame_is_named_by_its_own_members_only(frame: str | bytes, kind: str | None, call: str | None):
    dropped = oversize(frame)
    assert (dropped.frame_type, dropped.frame_id) == (kind, call)


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ('{"id":7,"x":"', b"7"),
        ('{"type":"prompt", "id" : -1.50e3 ,"x":"', b"-1.50e3"),
        ('{"id":"a","x":"', b'"a"'),
        ('{"id":null,"x":"', None),
        ('{"id":01,"x":"', None),
        ('{"id":1.2.3,"x":"', None),
        ('{"id":"a\\n","x":"', None),
        ('{"id":[7],"x":"', None),
        ('{"id":"a\tb","x":"', None),
        ('{"id":' + "7" * 600, None),
    ],
)
def test_the_id_of_an_oversize_line_is_kept_as_it_was_written(line, written):
    assert oversize(line).written_id == written


@given(st.binary(max_size=PREFIX_KEPT))
def test_naming_never_raises(prefix: bytes):
    dropped = Oversize(10**9, b'{"' + prefix, 64)
    assert dropped.frame_type is None or isinstance(dropped.frame_type, str)
    assert dropped.frame_id is None or isinstance(dropped.frame_id, str)


def test_lines_are_dropped_by_their_first_bytes():
    """The oversize line is a tuple, and stays."""
    dropped = oversize("ax")
    lines = [b"ax", b"b", b"a", dropped, bytearray(b"axe"), b"cx", b""]
    assert drop_lines(lines, (b"ax", b"c")) == 3
    assert lines == [b"b", b"a", dropped, b""]


def test_of_many_short_lines_only_those_that_may_be_frames_are_kept():
    """The oversize line is a tuple of three, and stays."""
    dropped = oversize("x" * 100)
    shortest = b'{"type":"a"}'
    assert len(shortest) == SHORTEST_FRAME
    lines = [b""] * CROWD + [b"", shortest, b"{", dropped, b"x" * 11, shortest]
    assert drop_scraps(lines, SHORTEST_FRAME) == 3
    assert lines == [b""] * CROWD + [shortest, dropped, shortest]
    assert drop_scraps([b""] * CROWD, SHORTEST_FRAME) == 0
    assert drop_scraps(short := [b"x" * 5] * CROWD + [b"x" * 5, b"x" * 4], 5) == 1, (
        "what is short is the dialect's to say"
    )
    assert len(short) == CROWD + 1


def test_the_limit_is_above_zots():
    assert DEFAULT_FRAME_LIMIT == 16 * 1024 * 1024
