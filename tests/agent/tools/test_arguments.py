"""Decoding of tool arguments."""

import json
import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools import arguments
from agent.tools.outcome import ToolError
from wire.dialects.copilot.tool_names import copilot_args


def refusal(function, *args: object) -> str:
    with pytest.raises(ToolError) as caught:
        function(*args)
    return str(caught.value)


@pytest.mark.parametrize("raw", [b"", b" ", b"{}", b"null"])
def test_nothing_is_no_arguments(raw: bytes) -> None:
    assert arguments.decode(raw) == {}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "invalid args: not valid JSON: "),
        (b"\xff", "invalid args: not valid JSON: "),
        (b"[" * 100_000, "invalid args: not valid JSON: "),
        (b"[]", "invalid args: the arguments must be an object, not an array"),
        (b'"x"', "invalid args: the arguments must be an object, not a string"),
    ],
)
def test_arguments_that_are_no_object(raw: bytes, message: str) -> None:
    assert refusal(arguments.decode, raw).startswith(message)


def test_missing_and_null_are_empty() -> None:
    assert arguments.text({}, "path") == arguments.text({"path": None}, "path") == ""
    assert arguments.integer({}, "n") == arguments.integer({"n": None}, "n") == 0
    assert arguments.replacements({"edits": None}) == []
    assert arguments.replacements({"edits": [{}, None]}) == [("", ""), ("", "")]


@pytest.mark.parametrize(
    ("value", "named"),
    [(1, "a number"), (True, "a boolean"), ([], "an array"), ({}, "an object"), (1.5, "the number 1.5")],
)
def test_a_text_of_another_type(value: object, named: str) -> None:
    assert refusal(arguments.text, {"path": value}, "path") == f"invalid args: path must be a string, not {named}"


@pytest.mark.parametrize(
    ("value", "named"),
    [("7", "a string"), (False, "a boolean"), (1.5, "the number 1.5"), (float("nan"), "the number nan")],
)
def test_an_integer_of_another_type(value: object, named: str) -> None:
    assert refusal(arguments.integer, {"n": value}, "n") == f"invalid args: n must be an integer, not {named}"


def test_a_whole_number_with_a_point_is_an_integer() -> None:
    assert arguments.integer({"n": 3.0}, "n") == 3


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ("[]", "edits must be an array, not a string"),
        ([{}, 3], "edit 2 must be an object, not a number"),
        ([{"oldText": 1}], "edit 1: oldText must be a string, not a number"),
        ([{"oldText": "a"}, {"newText": []}], "edit 2: newText must be a string, not an array"),
    ],
)
def test_edits_of_another_type(edits: object, message: str) -> None:
    assert refusal(arguments.replacements, {"edits": edits}) == f"invalid args: {message}"


def test_paths(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert arguments.path({"path": "a/../b"}, "/work") == ("a/../b", "/work/b")
    assert arguments.path({"path": "/x/../y"}, "/work") == ("/x/../y", "/y")
    assert arguments.path({"path": "a"}, "") == ("a", f"{tmp_path}/a")


@given(
    st.text(st.sampled_from("./~a\0é "), max_size=12)
    | st.lists(st.sampled_from(["", ".", "..", "~", "a"]), max_size=6).map("/".join)
)
def test_guards_that_are_told_absolute_paths_judge_the_file_that_the_tool_touches(path: str) -> None:
    told = copilot_args("read", json.dumps({"path": path}).encode(), "/work")["path"]
    try:
        _, used = arguments.path({"path": path}, "/work")
    except ToolError:
        assert told == path
        return
    assert ".." not in used.split("/")  # the file system would look where a link leads
    assert told == posixpath.normpath(re.sub("/+", "/", used))
