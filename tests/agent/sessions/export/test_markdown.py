"""Markdown of a message stays within it."""

from __future__ import annotations

import pytest

from agent.sessions.export.markdown import PARSED_CHARACTERS, contained, fenced


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


def test_a_text_that_is_too_long_to_be_parsed_is_code():
    assert contained("<b>" * PARSED_CHARACTERS).startswith("```\n<b>")
