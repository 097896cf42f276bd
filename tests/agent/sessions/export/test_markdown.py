"""Markdown of a message stays within it."""

from __future__ import annotations

import pytest

from agent.sessions.export.markdown import PARSED_CHARACTERS, contained, export_markdown, fenced
from agent.sessions.reading.history import read_history
from agent.sessions.rows import Meta, message_line, meta_line
from agent.transcript import Message, Text, ToolCall, ToolResult
from tests.support.session_files import ID, TIME, write_session


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain *text*", "plain *text*"),
        ("a <b>c</b> `<d>` <https://x.y> 1 < 2", "a \\<b>c\\</b> `<d>` <https://x.y> 1 < 2"),
        ("```html\n<b>\n```\n<i>", "```html\n<b>\n```\n\\<i>"),
        ("```\nopen", "```\nopen\n```"),
        ("~~~~\nopen\n~~~", "~~~~\nopen\n~~~\n~~~~"),
        ("```", "```\n```"),
        ("```\n", "```\n\n```"),
        ("```\nx\n    ```", "```\nx\n    ```\n```"),
        ("```\nx\n   ``` ", "```\nx\n   ``` "),
        ("- ```\n  <b>\n  ```\n\n<i>", "- ```\n  <b>\n  ```\n\n\\<i>"),
        ("1. a\n   ```\n   open", "1. a\n   ```\n   open"),
        ("```\r<script>", "```\n<script>\n```"),
        ("<!-- open", "\\<!-- open"),
        ("    <indented>", "    <indented>"),
    ],
)
def test_fences_are_closed_and_tags_are_shown(text, shown):
    assert contained(text) == shown


@pytest.mark.parametrize("text", ["", "a", "```", "a ```` b\n", "`" * 50])
def test_a_fence_is_longer_than_any_in_the_text(text):
    first, *inner, last = fenced(text, "text").split("\n")
    assert first == last + "text"
    assert last not in "\n".join(inner)


def test_names_of_tools_and_arguments_stay_on_their_line(tmp_path):
    name = "x\n---\n\n- a"
    call = Message("assistant", (ToolCall("t", name, b'{"a\\n---":"v"}'),), TIME)
    result = Message("tool", (ToolResult("t", (Text("r"),)),), TIME)
    path = write_session(tmp_path, "/p", [meta_line(Meta(id=ID)), message_line(call), message_line(result)])
    document = export_markdown(read_history(path))
    for line in ("**Call of x --- - a**", "a ---:", "**Result of x --- - a**"):
        assert f"\n\n{line}\n\n" in document


def test_a_text_that_is_too_long_to_be_parsed_is_code():
    assert contained("<b>" * PARSED_CHARACTERS).startswith("```\n<b>")
