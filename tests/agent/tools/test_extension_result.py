"""A tool result of an extension that is too long is cut, and kept as a file."""

from __future__ import annotations

import base64
import json
import tracemalloc
from pathlib import Path

import pytest

from agent.tools.extension_result import INPUT_LIMIT, limit_parts, parts_of
from agent.transcript import Image, Text
from tests.support.faulty_run import guarded, observe, program
from tests.support.pictures import png
from wire.frames import ContentBlock

PIXEL, GIF = "iVBORw0KGgo=", "R0lGODlh"
"""The first bytes of each, which tell its type."""
NONE = "from extension e; its bytes are no PNG, JPEG, GIF or WebP"


@pytest.mark.parametrize(
    ("mime_type", "data", "part"),
    [
        ("image/png", PIXEL, Image("image/png", PIXEL)),
        ("image/png", "", Text("[an image from extension e that is empty]")),
        ("image/png", "\n", Text("[an image from extension e that is empty]")),
        ("image/png", f"{PIXEL[:4]}\r\n{PIXEL[4:]}\n", Image("image/png", PIXEL)),
        ("Image/PNG; q=1", PIXEL, Image("image/png", PIXEL)),
        ("image/jpg", "/9j/4AAQ", Image("image/jpeg", "/9j/4AAQ")),
        ("image/jpg", PIXEL, Text("[an image of type 'image/jpg' from extension e; its bytes are image/png]")),
        ("image/png", GIF, Text("[an image of type 'image/png' from extension e; its bytes are image/gif]")),
        ("image/gif", "aGk=", Text(f"[an image of type 'image/gif' {NONE}]")),
        ("image/svg+xml", "PHN2Zy8+", Text(f"[an image of type 'image/svg+xml' {NONE}]")),
    ],
)  # fmt: skip
def test_an_image_is_what_its_type_says_or_a_text(mime_type: str, data: str, part: Text | Image):
    block = ContentBlock("image", mime_type=mime_type, data=data)
    assert parts_of([block], "e/tool") == ((part,), False)


def test_an_image_that_no_model_takes_is_a_text_and_is_not_decoded():
    largest = PIXEL[:8] + "GgoA" + "A" * (INPUT_LIMIT // 3 * 4 - 12)
    for data, shown in (
        (largest, Image("image/png", largest)),
        (largest + "!", Text("[an image from extension e; it has more than 67108864 bytes]")),
    ):
        assert parts_of([ContentBlock("image", mime_type="image/png", data=data)], "e/tool") == ((shown,), False)


def test_only_the_start_of_a_long_text_is_divided_into_lines(tmp_path: Path):
    tracemalloc.start()
    try:
        (cut,) = limit_parts((Text("\n" * 2_000_000),), tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000, "each line as a string would take fifty times as much"
    finally:
        tracemalloc.stop()
    assert "this is the start of 2000000 bytes, 2000001 lines" in cut.text


def test_a_long_result_of_a_guard_is_cut_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    seen = guarded(tmp_path, result={"modified_result": {"content": [{"type": "text", "text": "x" * 200_000}]}})
    said, _ = seen.answer_of("t1.0")
    assert len(said) < 52_000
    assert said.count("[cut: this is the start of 200000 bytes") == 1
    again = limit_parts((Text(said),), tmp_path)
    assert again == (Text(said),)


LONG = """
hello("long")
send(type="ready")
for frame in frames():
    result(frame, frame["args"]["text"] * frame["args"]["times"])
"""


@pytest.mark.parametrize(
    ("text", "times", "shown"),
    [("0123456789\n", 10_000, "0123456789\n" * 1000), ("x\n", 3000, "x\n" * 1900), ("é", 60_000, "é" * 25_000)],
)
def test_a_result_that_is_too_long_is_cut_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, times: int, shown: str
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    long = program(tmp_path, "long", LONG)
    seen = observe(tmp_path, long, batches=[[("long", {"text": text, "times": times})]])
    said, is_error = seen.answer_of("t1.0")
    assert not is_error
    assert said.startswith(shown)
    assert len(said.encode()) < 52_000
    start, _, pointer = said.rpartition("\n... [cut: this is the start of ")
    assert start
    kept = Path(pointer.rpartition("the whole text: ")[2].rstrip("]"))
    assert kept.read_text() == text * times
    assert kept.stat().st_mode & 0o777 == 0o600
    assert pointer.startswith(f"{len((text * times).encode())} bytes, ")


def test_a_long_result_that_cannot_be_kept_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    seen = observe(tmp_path, program(tmp_path, "long", LONG), batches=[[("long", {"text": "x" * 99, "times": 999})]])
    assert seen.answer_of("t1.0")[0].endswith("the whole could not be kept: No such file or directory]")


PICTURES = """
hello("pictures", intercept=["tool_result"])
send(type="ready")
blocks = %r
for frame in frames():
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=blocks)
    else:
        said = {"modified_result": {"content": blocks}} if frame["tool_name"] == "echo" else {}
        send(type="event_intercept_response", id=frame["id"], **said)
"""


def test_no_image_that_a_model_refuses_gets_into_the_conversation_or_the_session(tmp_path: Path):
    """Each request to the model's API holds all results before it: one such image would end the session for good."""
    good, damaged = (base64.b64encode(data).decode() for data in (png(2, 2), png(2, 2)[:-9]))
    bad = [("image/png", ""), ("image/jpeg", good), ("image/png", damaged), ("image/svg+xml", "PHN2Zy8+")]
    blocks = [{"type": "image", "mime_type": kind, "data": data} for kind, data in [("image/png", good), *bad]]
    pictures = program(tmp_path, "pictures", PICTURES % blocks)
    seen = observe(tmp_path, pictures, batches=[[("pictures", {})], [("echo", {"text": "x"})]])
    for call in ("t1.0", "t2.0"):
        said, is_error = seen.answer_of(call)
        assert (said.count("[an image"), is_error) == (4, False)
    asked = json.dumps(seen.requests[-1]["messages"])
    (session,) = (tmp_path / "home" / "sessions").rglob("*.jsonl")
    for text in (asked, session.read_text()):
        assert (text.count(good), text.count(damaged), text.count("PHN2Zy8")) == (2, 0, 0)
        assert text.count("its bytes are image/png") == 2
