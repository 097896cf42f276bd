"""A search finds text in every part of a message."""

from __future__ import annotations

import re

import pytest

from agent.sessions.reading.search import Hit, pattern_of, search
from agent.sessions.rows import message_line
from agent.transcript import Message, Text, ToolCall, ToolResult
from tests.support.session_files import TIME, write_session

ROWS = [
    Message("user", (Text("Look at the Parser, please"),), TIME),
    Message("assistant", (Text("Yes"), ToolCall("t1", "bash", b'{"command": "say \\"hi\\"\\ngrep parser"}')), TIME),
    Message("tool", (ToolResult("t1", (Text("x" * 100 + " parser parser " + "y" * 200),)),), TIME),
    Message("tool", (ToolResult("gone", (Text("straße"),)),), TIME),
]


@pytest.fixture
def found(tmp_path):
    path = write_session(tmp_path, "/p", map(message_line, ROWS))

    def found(text, *, is_regex=False, ignore_case=True):
        return list(search(path, pattern_of(text, is_regex=is_regex, ignore_case=ignore_case)))

    return found


def test_texts_arguments_and_results(found):
    hits = found("parser")
    assert [(hit.message, hit.role, hit.part, hit.tool, hit.matches) for hit in hits] == [
        (1, "user", "text", "", 1),
        (2, "assistant", "arguments", "bash", 1),
        (3, "tool", "result", "bash", 2),
    ]
    assert hits[0].snippet == "Look at the Parser, please"
    assert hits[2].snippet == "… " + "x" * 39 + " parser parser " + "y" * 32 + " …"


def test_case_matters_if_asked_for(found):
    assert [hit.message for hit in found("Parser", ignore_case=False)] == [1]


def test_quotes_in_arguments_are_found_as_they_were_meant(found):
    assert [hit.message for hit in found('say "hi"')] == [2]


def test_signs_of_an_expression_mean_themselves_unless_asked_for(found):
    assert found("pars.r") == []
    assert len(found("pars.r$", is_regex=True)) == 1
    assert found("q*", is_regex=True) == []  # an empty match is none
    with pytest.raises(re.error):
        pattern_of("(", is_regex=True, ignore_case=True)


def test_a_result_without_its_call_is_searched(found):
    assert found("STRASSE") == []
    assert found("STRAßE") == [Hit(4, "tool", "result", "", "straße", 1)]
