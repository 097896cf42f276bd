"""Each kind of frame has its own limit, which holds at every cut of the stream. To refuse a long frame costs little."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.dialect_session import session_of
from wire import frames
from wire.dialects.long_lines import LIMITS, LONGEST, SHORT, STRINGS_LIMIT, decode_long, limit_of
from wire.framing import Oversize

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = sorted({*frames.EXTENSION_TYPES, "no_such_kind"})
SAID: dict[str, dict[str, Any]] = {
    "hello": {"name": "x"},
    "register_tool": {"name": "t", "schema": {"type": "object"}},
    "register_command": {"name": "c"},
    "unregister_tool": {"name": "t"},
    "tool_progress": {"text": "half"},
    "log": {"message": "m"},
    "panel_render": {"panel_id": "p"},
    "panel_close": {"panel_id": "p"},
    "open_panel": {"panel": {"id": "p"}},
    "submit": {"text": "t"},
    "submit_slash": {"text": "/t"},
    "call_tool": {"name": "t"},
}
ANSWERS = {
    "tool_result",
    "event_intercept_response",
    "command_response",
    "tool_progress",
    "lease_ready",
    "pong",
}
IDS = ANSWERS | {"call_tool", "call_tool_cancel", "lease_ready"}
"""Frames with an id; that of `lease_ready` is of a lease, those of the two calls are the extension's own."""


def frame_of(kind: str, size: int, *, type_last: bool = False) -> bytes:
    """A sound frame of this kind with `size` bytes; an unknown member fills it."""
    fields = {**SAID.get(kind, {}), **({"id": "7"} if kind in IDS else {})}
    ends = [b'"type":"%b"' % kind.encode(), *(b'"%b":%b' % (k.encode(), dumped(v)) for k, v in fields.items())]
    room = size - len(b",".join(ends)) - len(b'{,"pad":""}')
    pad = b'"pad":"%b"' % (b"p" * room)
    made = b"{%b}" % b",".join([pad, *reversed(ends)] if type_last else [*ends, pad])
    assert len(made) == size
    return made


def dumped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def heard(data: bytes, cuts: Iterable[int] = (), frame_limit: int = LONGEST) -> list[Any]:
    """Returns the messages that a host takes from these bytes."""
    session = session_of(frame_limit=frame_limit)
    splitter = session.splitter()
    at = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    lines = [line for start, end in pairwise(at) for line in splitter.feed(data[start:end])]
    return [
        message
        for line in lines
        for message in ([line] if isinstance(line, Oversize) else session.receive(line, 0.0)[0])
    ]


@pytest.mark.parametrize("type_last", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_may_be_as_long_as_its_kind_allows_and_no_longer(kind: str, type_last: bool):
    limit = LIMITS.get(kind, SHORT)
    for size in (SHORT, limit):
        *_, frame = heard(frame_of(kind, size, type_last=type_last) + b"\n")
        assert not isinstance(frame, frames.Malformed | Oversize)
    (refused,) = heard(frame_of(kind, limit + 1, type_last=type_last) + b"\n")
    assert isinstance(refused, frames.Malformed if type_last and limit < LONGEST else Oversize)
    if isinstance(refused, Oversize):
        assert (refused.size, refused.limit) == (limit + 1, limit)
    else:
        assert refused.reason == f"a {kind} frame of {limit + 1} bytes is over the limit of {limit} bytes; dropped"
        assert refused.id == ("7" if kind in ANSWERS else None), "a pending call can be failed"


STREAM = b"\n".join(
    [
        frame_of("ready", 30),
        frame_of("log", SHORT),
        frame_of("log", SHORT + 1),
        frame_of("tool_result", SHORT + 1),
        frame_of("notify", SHORT + 1, type_last=True),
        b"x" * (SHORT + 1),
        frame_of("register_tool", LIMITS["register_tool"] + 1),
        b"",
        frame_of("pong", 40),
        b"",
    ]
)


@settings(max_examples=25)
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_what_is_refused_does_not_depend_on_how_the_stream_is_cut(cuts: list[int]):
    # compared as text: `Raw` compares by identity
    assert list(map(repr, heard(STREAM, cuts))) == list(map(repr, heard(STREAM, range(0, len(STREAM), 65536))))


@given(st.binary(max_size=60), st.sampled_from([b"", b"{", b'{"type":"tool_result"', b' {"id":"1","type":"log"']))
def test_every_start_of_a_line_has_a_limit(rest: bytes, start: bytes):
    assert SHORT <= limit_of(start + rest) <= LONGEST


def test_the_limit_of_the_manifest_is_for_all_kinds():
    for kind in ("tool_result", "notify"):
        for type_last in (False, True):
            (refused,) = heard(frame_of(kind, 2049, type_last=type_last) + b"\n", frame_limit=2048)
            assert isinstance(refused, Oversize)
            assert refused.limit == 2048


def test_a_long_line_of_another_kind_is_dropped_while_it_comes():
    splitter = session_of().splitter()
    splitter.feed(b'{"type":"log","message":"')
    tracemalloc.start()
    try:
        for _ in range(1000):
            splitter.feed(b"x" * 65536)
        assert tracemalloc.get_traced_memory()[1] < 2 * SHORT
    finally:
        tracemalloc.stop()
    assert splitter.pending < 1024


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id":"7","pad":"%b"}', "a line of N bytes is over the limit of 262144 bytes; dropped"),
        (b'{"type":5,"id":"7","pad":"%b"}', "a line of N bytes is over the limit of 262144 bytes; dropped"),
        (
            b'{"type":"tool_result","id":"7","pad":"%b","content":5}',
            "bad tool_result frame: Expected `array | null`, got `int` - at `$.content`",
        ),
        (
            b'{"type":"tool_result","id":"7","pad":"%b","type":"log","message":""}',
            "a log frame of N bytes is over the limit of 262144 bytes; dropped",
        ),
        (
            b'{"id":"7","type":"log","message":"","pad":"%b","type":"tool_result"}',
            "bad tool_result frame: Invalid value 'log' - at `$.type`",
        ),
    ],
)
def test_a_long_line_that_is_no_frame_is_refused_by_name(line: bytes, message: str):
    line = line % (b"x" * SHORT)
    refused = decode_long(line)
    assert isinstance(refused, frames.Malformed)
    assert refused.reason == message.replace("N", str(len(line)))
    assert refused.id == "7"


@pytest.mark.parametrize("text", [rb"\ud83d", b"\xff"])
def test_a_long_result_with_a_bad_character_is_repaired(text: bytes):
    line = b'{"type":"tool_result","id":"7","content":[{"type":"text","text":"%b%b"}]}' % (text, b"x" * SHORT)
    frame = decode_long(line)
    assert isinstance(frame, frames.ToolResult)
    assert frame.content is not None
    assert frame.content[0].text == "\ufffd" + "x" * SHORT


@pytest.mark.parametrize("key", [b"type", rb"\u0074ype"])
@pytest.mark.parametrize("text", [b"", rb"\\", rb"\""])
def test_a_frame_of_nothing_but_strings_is_refused_before_it_takes_memory(key: bytes, text: bytes):
    block = b'{"%b":"%b"},' % (key, text)
    head, tail = b'{"type":"tool_result","id":"7","content":[', b'{"type":""}]}'
    line = head + block * ((LONGEST - len(head + tail)) // len(block)) + tail
    tracemalloc.start()
    try:
        refused = decode_long(line)
        assert tracemalloc.get_traced_memory()[1] < LONGEST
    finally:
        tracemalloc.stop()
    assert isinstance(refused, frames.Malformed)
    assert refused.reason == f"a tool_result frame of {len(line)} bytes has more than {STRINGS_LIMIT} strings; dropped"
    assert refused.id == "7"


def test_quoted_text_is_one_string():
    code = json.dumps({"name": "value"}) * 50_000
    line = dumped({"type": "tool_result", "id": "7", "content": [{"type": "text", "text": code}]})
    assert len(line) > SHORT
    assert isinstance(decode_long(line), frames.ToolResult)


@given(st.binary(max_size=40), st.sampled_from([b"{", b'{"type":"tool_result","id":"1",', b'{"type":"log",', b"["]))
def test_decoding_never_raises(rest: bytes, start: bytes):
    assert decode_long(start + b'"pad":"%b",' % (b"x" * SHORT) + rest) is not None
