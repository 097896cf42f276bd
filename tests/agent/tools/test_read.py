"""The `read` tool: windows of any text file, and what it refuses."""

from __future__ import annotations

import base64
import io
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools import read
from agent.tools.read import MAX_BYTES, MAX_LINES, read_window
from tests.support.file_tools import refusal

if TYPE_CHECKING:
    from pathlib import Path


def text_of(directory: Path, **args: object) -> str:
    outcome = read.run(args, str(directory))
    assert not outcome.is_error
    (block,) = outcome.content
    assert block["type"] == "text"
    return block["text"]


def test_a_final_line_end_is_added_and_carriage_returns_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\r\ntwo")
    assert text_of(tmp_path, path="a") == "one\r\ntwo\n"


@pytest.mark.parametrize(
    ("offset", "limit", "expected"), [(2, 1, "b\n"), (0, -1, "a\nb\nc\n"), (3, 9, "c\n"), (4, 1, "")]
)
def test_offset_and_limit(tmp_path: Path, offset: int, limit: int, expected: str) -> None:
    (tmp_path / "a").write_text("a\nb\nc\n")
    assert text_of(tmp_path, path="a", offset=offset, limit=limit) == expected


def test_an_empty_file_is_empty_text(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert text_of(tmp_path, path="a") == ""


def test_lines_beyond_the_first_51200_bytes_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"line {n}\n" for n in range(1, 100_001)))
    assert text_of(tmp_path, path="a", offset=99_999, limit=5) == "line 99999\nline 100000\n"


def test_following_the_advice_reads_the_whole_file_once(tmp_path: Path) -> None:
    content = "".join(f"{n} {'x' * (n % 97)}\n" for n in range(9_000))
    (tmp_path / "a").write_text(content)
    seen, offset = "", 1
    while True:
        text = text_of(tmp_path, path="a", offset=offset)
        body, marker, advice = text.partition("... [truncated at ")
        seen += body
        if not marker:
            break
        offset = int(advice.rsplit("continue with offset ", 1)[1])
    assert seen == content


def test_the_line_cap_keeps_zots_marker_and_names_the_next_offset(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 5_000)
    text = text_of(tmp_path, path="a", offset=11)
    assert text == "x\n" * MAX_LINES + "... [truncated at 2000 lines]; continue with offset 2011\n"


def test_a_file_of_exactly_the_caps_is_not_truncated(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("x\n" * MAX_LINES)
    (tmp_path / "bytes").write_text("x" * MAX_BYTES)
    assert text_of(tmp_path, path="lines") == "x\n" * MAX_LINES
    assert text_of(tmp_path, path="bytes") == "x" * MAX_BYTES + "\n"


def test_reaching_the_asked_limit_is_no_truncation(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 5_000)
    assert "truncated" not in text_of(tmp_path, path="a", limit=MAX_LINES)
    assert "truncated" in text_of(tmp_path, path="a", limit=MAX_LINES + 1)


def test_a_line_longer_than_the_cap_is_cut_at_a_character(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" + "é" * 60_000 + "\nnext\n", encoding="utf-8")
    body, _, note = text_of(tmp_path, path="a").partition("... ")
    assert body == "a" + "é" * ((MAX_BYTES - 1) // 2) + "\n"
    assert note.startswith("[truncated at 51200 bytes]; line 1 is longer than that: continue with offset 2")
    assert text_of(tmp_path, path="a", offset=2) == "next\n"


def test_a_huge_line_takes_bounded_memory(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as stream:
        stream.write(b"x" * 10_000)
        stream.truncate(256 << 20)  # sparse
    tracemalloc.start()
    try:
        text_of(tmp_path, path="a")
        text_of(tmp_path, path="a", offset=2)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_bytes_that_are_not_utf8_become_replacement_characters(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"caf\xe9\n")
    assert text_of(tmp_path, path="a") == "caf\ufffd\n"


def test_binary_content_is_refused_if_it_shows_early(tmp_path: Path) -> None:
    (tmp_path / "early").write_bytes(b"x" * 8_191 + b"\0")
    (tmp_path / "late").write_bytes(b"x" * 8_192 + b"\0")
    assert refusal(read.run, tmp_path, path="early") == "early looks binary; refusing to read as text"
    assert text_of(tmp_path, path="late").startswith("xxx")


CONTENT = st.lists(st.sampled_from([b"", b"a", b"\r", b"\xc3\xa9", b"\xff", b"x" * 30_000]), max_size=12).map(
    b"\n".join
)


@given(CONTENT, st.integers(1, 14), st.integers(-1, 14))
def test_a_window_is_what_slicing_the_lines_gives(content: bytes, offset: int, limit: int) -> None:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    wanted = lines[offset - 1 :][: limit if limit > 0 else None]
    shown: list[bytes] = []
    for line in wanted:
        if len(b"\n".join([*shown, line])) + 1 > MAX_BYTES:
            break
        shown.append(line)
    expected = b"".join(line + b"\n" for line in shown).decode(errors="replace")
    if len(shown) < len(wanted):
        expected += f"... [truncated at 51200 bytes]; continue with offset {offset + len(shown)}\n"
    assert read_window(io.BufferedReader(io.BytesIO(content)), offset, limit) == expected


def test_a_way_back_from_behind_a_link_leads_to_where_its_words_say(tmp_path: Path) -> None:
    """A guard can tell from the path which file is read."""
    (tmp_path / "else" / "where").mkdir(parents=True)
    (tmp_path / "else" / "name").write_text("behind the link")
    (tmp_path / "link").symlink_to(tmp_path / "else" / "where")
    (tmp_path / "name").write_text("here")
    assert text_of(tmp_path, path="link/../name") == "here\n"
    assert text_of(tmp_path, path=f"{tmp_path}/link/../name") == "here\n"


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\1\0\0\0WEBP", "image/webp"),
    ],
)
def test_the_content_decides_the_media_type_of_an_image(tmp_path: Path, content: bytes, mime_type: str) -> None:
    (tmp_path / "a.PNG").write_bytes(content)
    expected = {"type": "image", "mime_type": mime_type, "data": base64.b64encode(content).decode()}
    assert read.run({"path": "a.PNG"}, str(tmp_path)).content == [expected]


def test_a_file_that_is_no_image_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_text("<html>")
    assert (
        refusal(read.run, tmp_path, path="a.png")
        == "a.png is named like an image, but its content is no PNG, JPEG, GIF or WebP"
    )
    monkeypatch.setattr(read, "INPUT_LIMIT", 13)
    (tmp_path / "b.png").write_bytes(PNG)
    assert refusal(read.run, tmp_path, path="b.png").startswith("b.png is too large for an image: more than 13 bytes")
