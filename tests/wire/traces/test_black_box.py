"""A black box is read as it was written; damaged ones are named with the line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.traces import black_box
from wire.traces.black_box import BlackBox, BlackBoxError, BoxFrame, PendingCall, decode, encode, is_black_box


def header(frames: int = 1) -> BlackBox:
    return BlackBox(
        run="20261128-191102-4711", time=1.5, zot="1", extension="guard", folder="/guard", dialect="zot", version="2",
        pid=4712, fall="crashed", cause="signal SIGSEGV", pending=1,
        last_call=PendingCall("tool_call", "7", "shout", 0.5), form="full", frames=frames, is_whole=True,
    )  # fmt: skip


FRAME = BoxFrame(time=1.25, side="host", kind="tool_call", id="7", name="shout", size=3, text="{ }")


@given(st.text(max_size=50))
def test_it_is_read_as_it_was_written(text: str):
    frame = BoxFrame(time=1.0, side="extension", kind="", size=len(text), text=text)
    written = encode(header(2), [FRAME, frame])
    assert decode(written) == (header(2), (FRAME, frame), "")
    assert is_black_box(written)


def test_a_last_line_that_is_cut_is_left_out_with_a_note():
    whole = encode(header(2), [FRAME, FRAME])
    for cut in range(len(encode(header(2), [FRAME])) + 1, len(whole)):
        assert decode(whole[:cut]) == (header(2), (FRAME,), "line 3 is cut off and left out")
    assert decode(encode(header(2), [FRAME])).fault == "it has 1 of 2 frames"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "line 1: not a black box: "),
        (b"\x00\xff", "line 1: not a black box: "),
        (b"[" * 100_000, "line 1: not a black box: "),
        (b'{"type":"trace"}\n', "line 1: not a black box: its type is not black_box"),
        (b'{"type":"black_box","format":2}\n', "line 1: format 2; this zot reads format 1"),
        (b'{"type":"black_box"}\n', "line 1: Object missing required field"),
        (encode(header(), []) + b"{}\n", "line 2: "),
        (encode(header(), [FRAME]) + b"junk\n", "line 3: "),
        (encode(header(), []) * 2, "line 2: a second black_box; a file has one"),
    ],
)
def test_a_damaged_one_is_named_with_its_line(text: bytes, reason: str):
    with pytest.raises(BlackBoxError) as raised:
        decode(text)
    assert str(raised.value).startswith(reason)


def test_other_files_are_none():
    assert not any(map(is_black_box, (b"", b"{}", b'{"host":{}}', b'{"type":"trace"}', b"\xff")))
    assert black_box.FORMAT == 1
