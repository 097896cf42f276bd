"""Calls and results as lines: arguments of any JSON, folded results, colours of a difference."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyzot.events import ToolCall
from pyzot.parts import ImageContent, TextContent, ToolCallContent
from pyzot.screen.view import tool_calls
from pyzot.screen.view.text import Palette, width_of
from pyzot.screen.view.tool_calls import FOLDED, RESULT_LIMIT, SHOWN_LIMIT, RunningCall, arguments_text
from tests.pyzot.screen.view.test_text import any_text
from tests.support.any_json import json_values

COLOURED, PLAIN = Palette(has_colours=True), Palette(has_colours=False)
NO_STYLE = {"": ""}


def call(args, name="bash", **more):
    return ToolCall(id="t1", name=name, args=args, **more)


@pytest.mark.parametrize(
    ("args", "text", "whole"),
    [
        ({"command": "ls -l"}, "ls -l", "ls -l"),
        ({"path": "a.py", "offset": 3}, 'a.py {"offset": 3}', 'a.py {"offset": 3}'),
        ({"path": "a.py", "edits": [1]}, "a.py", 'a.py {"edits": [1]}'),
        ({"path": "a.py", "content": "x" * 50}, "a.py", f'a.py {{"content": "{"x" * 50}"}}'),
        ({"command": "", "path": "b"}, 'b {"command": ""}', 'b {"command": ""}'),
        ({"command": 3, "other": None}, '{"command": 3, "other": null}', '{"command": 3, "other": null}'),
        ({}, "", ""),
        (None, "null", "null"),
        ([1, "é"], '[1, "é"]', '[1, "é"]'),
        ("text", '"text"', '"text"'),
        (True, "true", "true"),
    ],
)
def test_arguments_in_words(args, text, whole):
    assert arguments_text(args) == text
    assert arguments_text(args, is_whole=True) == whole


@given(json_values | st.dictionaries(st.sampled_from(["command", "path", "name", "x"]), json_values))
def test_any_arguments_have_a_headline_and_all_of_them_are_told_in_whole(args):
    assert "\n" not in tool_calls.headline(call(args), PLAIN)
    whole = arguments_text(args, is_whole=True)
    if isinstance(args, dict):
        for value in args.values():
            assert json.dumps(value, ensure_ascii=False) in whole or (isinstance(value, str) and value in whole)


def test_a_headline_names_the_owner_and_the_one_it_is_for():
    line = tool_calls.headline(call({"x": "\x1b[2J\n"}, "echo", extension="e", origin_extension="o"), PLAIN)
    assert line == '● echo [e] (for o) {"x": "\\u001b[2J\\n"}'


@given(any_text, any_text, st.integers(10, 200), st.floats(0, 1e9))
def test_a_running_call_has_two_lines_of_the_columns(command, progress, columns, now):
    running = RunningCall(call({"command": command}), 0.0)
    running.progress = progress
    lines = tool_calls.running_lines(running, now, columns, COLOURED)
    assert 1 <= len(lines) <= 2
    assert all(width_of(line) <= columns and "\n" not in line for line in lines)


def test_the_last_line_of_the_output_stands_below_a_running_call():
    running = RunningCall(call({"command": "make"}), 2.0)
    running.progress = "one\n10 %\r90 %\r\n\n"
    assert tool_calls.running_lines(running, 9.4, 40, PLAIN) == ["7 s ● bash make", "  90 %"]


def test_an_image_is_its_size_and_calls_are_left_out():
    parts = [TextContent("a"), ImageContent("image/png", 70), ToolCallContent("t1", "bash", {})]
    assert tool_calls.text_of(parts) == "a\n[image/png, 70 bytes]"
    assert tool_calls.text_of([]) == ""


def test_a_difference_and_an_error_have_colours():
    style = tool_calls.DIFF
    assert tool_calls.result_lines("+a\n-b\n c\n", style, COLOURED) == [
        "\x1b[32m+a\x1b[0m",
        "\x1b[31m-b\x1b[0m",
        " c",
        "",
    ]
    style = {"": "red"}
    assert tool_calls.result_lines("+a", style, COLOURED) == ["\x1b[31m+a\x1b[0m"]
    style = {"": ""}
    assert tool_calls.result_lines("+a", style, COLOURED) == ["+a"]


def test_a_long_result_is_folded():
    text = "\n".join(map(str, range(20)))
    shown, is_folded = tool_calls.folded_lines(text, NO_STYLE, 40, PLAIN)
    assert shown == [*(f"  {number}" for number in range(FOLDED)), "  … 12 more lines (Ctrl-O shows them)"]
    assert is_folded
    assert tool_calls.folded_lines("\n".join("x" * (FOLDED + 1)), NO_STYLE, 40, PLAIN) == (
        ["  x"] * (FOLDED + 1),
        False,
    )
    assert tool_calls.folded_lines("x" * 50, NO_STYLE, 10, PLAIN) == (["  " + "x" * 7 + "…"], True)
    assert tool_calls.folded_lines("", NO_STYLE, 10, PLAIN) == (["  "], False)
    shown, is_folded = tool_calls.folded_lines("x" * (SHOWN_LIMIT + 9) + "\ny", NO_STYLE, 20, PLAIN)
    assert (shown[1:], is_folded) == (["  … 1 more lines (Ctrl-O shows them)"], True)


def test_unfolding_has_a_limit():
    lines = tool_calls.result_lines("x" * (RESULT_LIMIT + 7), NO_STYLE, PLAIN)
    assert lines == ["x" * RESULT_LIMIT, "… 7 more characters"]


@given(any_text, st.integers(10, 200), st.booleans(), st.booleans())
def test_a_folded_result_has_few_lines_of_the_columns(text, columns, is_error, is_diff):
    style = {"": "red"} if is_error else tool_calls.DIFF if is_diff else {"": ""}
    shown, is_folded = tool_calls.folded_lines(text * 5, style, columns, COLOURED)
    assert len(shown) <= FOLDED + 2
    assert all(width_of(line) <= columns for line in shown[: len(shown) - is_folded])
    if not is_folded:
        assert [line[2:] for line in tool_calls.folded_lines(text * 5, style, columns, PLAIN)[0]] == (
            tool_calls.result_lines(text * 5, style, PLAIN)
        )
