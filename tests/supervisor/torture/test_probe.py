"""Which question an extension is asked."""

from __future__ import annotations

import pytest

from supervisor.registry.registration import EMPTY_SCHEMA, Tool
from supervisor.torture.probe import choose_probe, writing_words


def tool(name: str, **fields: bool) -> Tool:
    return Tool(name, "", EMPTY_SCHEMA, **fields)


@pytest.mark.parametrize(
    ("tools", "commands", "guards", "expected"),
    [
        ([tool("count"), tool("delete_all", read_only=True)], (), (), "tool delete_all"),
        ([tool("delete_all"), tool("count")], (), ("tool_call",), "tool count"),
        ([tool("delete_all")], ("hi",), ("turn_start", "tool_call"), "guard of tool_call"),
        ([tool("delete_all")], ("reset", "hi"), (), "command /hi"),
        ([tool("delete_all")], (), (), "tool delete_all"),
        ([tool("ask", is_interactive=True)], (), (), "ping"),
        ([], (), ("session_end",), "guard of session_end"),
    ],
)
def test_the_most_harmless_question_is_asked(tools, commands, guards, expected):
    assert str(choose_probe(tools, commands, guards, can_ping=True)) == expected


def test_an_extension_that_answers_nothing_has_none():
    assert choose_probe([], (), (), can_ping=False) is None


def test_words_are_found_in_all_spellings():
    assert writing_words("deleteAll") == writing_words("mcp__files__delete-all") == {"delete"}
    assert writing_words("settings_address_runner") == set()
