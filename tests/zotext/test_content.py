"""The value that a tool returns becomes content."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import zotext
from zotext import Extension, Image, Result, Text
from zotext.testing import Harness

PNG = b"\x89PNG\r\n\x1a\n and so on"


class Size(enum.Enum):
    BIG = "big"


@dataclass
class Found:
    path: Path
    size: Size


def returns(ext: Extension, value: Any) -> zotext.testing.ToolAnswer:  # type: ignore[name-defined]
    @ext.tool
    def give() -> Any:
        return value

    with Harness(ext) as host:
        return host.call_tool("give")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", [Text("text")]),
        (None, []),
        (Text("a"), [Text("a")]),
        ([Text("a"), "b"], [Text("a"), Text("b")]),
        (Image(PNG), [Image(PNG, "image/png")]),
        (Result(["a", Image(PNG)]), [Text("a"), Image(PNG)]),
        ({"a": [1, True, None]}, [Text('{"a": [1, true, null]}')]),
        (["a", "b"], [Text('["a", "b"]')]),
        (3, [Text("3")]),
        (Found(Path("x"), Size.BIG), [Text('{"path": "x", "size": "big"}')]),
        ({"all": {2, 1}}, [Text('{"all": [1, 2]}')]),
    ],
)
def test_what_a_tool_returns_becomes_content(ext: Extension, value: Any, content: list[Any]):
    answer = returns(ext, value)
    assert answer.content == content
    assert not answer.is_error


def test_a_result_can_be_a_failure(ext: Extension):
    assert returns(ext, Result("bad", is_error=True)).is_error


def test_a_value_that_json_cannot_hold_is_an_error_with_its_type(ext: Extension):
    answer = returns(ext, object())
    assert answer.is_error
    assert "object, which JSON cannot hold" in answer.text


def test_half_a_surrogate_pair_does_not_break_the_line(ext: Extension):
    assert returns(ext, "a\ud800b\n\u2028").text == "a?b\n\u2028"


def test_images_from_bytes_and_files(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(PNG)
    assert Image(tmp_path / "a.png") == Image(PNG)
    assert Image(str(tmp_path / "a.png")).mime_type == "image/png"
    assert Image(b"RIFF1234WEBPVP8 ").mime_type == "image/webp"
    assert Image(b"<svg/>", "image/svg+xml").mime_type == "image/svg+xml"
    with pytest.raises(ValueError, match="say the mime_type"):
        Image(b"<svg/>")
    with pytest.raises(FileNotFoundError):
        Image(tmp_path / "none.png")


def test_markdown_is_text_that_a_screen_may_show_as_such(ext: Extension):
    assert returns(ext, [Text("*a*", markdown=True), "b"]).content == [Text("*a*", markdown=True), Text("b")]
    assert Text("a").as_json() == {"type": "text", "text": "a"}
    assert (repr(Text("a")), repr(Text("a", markdown=True))) == ("Text('a')", "Text('a', markdown=True)")


@pytest.mark.parametrize("activate", [[1], [None, "a"], [["a"]]])
def test_names_of_tools_to_activate_are_texts(activate: Any):
    with pytest.raises(TypeError, match="activate is a list of names of tools"):
        Result("x", activate=activate)
    assert Result("x", activate="one").activate == ["one"]


def test_a_structured_result_that_json_cannot_hold_is_an_error(ext: Extension):
    answer = returns(ext, Result("x", structured={1, 2}))
    assert (answer.is_error, answer.text) == (True, "TypeError: Object of type set is not JSON serializable")
