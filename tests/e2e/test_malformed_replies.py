"""Replies of the model that break the rules of the Messages API: one error that names the field, and a whole stream."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.messages_server import (
    MessagesServer,
    events_reply,
    message_events,
    raw_tool_reply,
    text_block,
    text_reply,
    tool_block,
)
from tests.support.zot_process import check_transcript
from wire.events import Done, Result, ToolCall, TurnEnd, Usage
from wire.exit_codes import Status


def with_text(*path_and_value: Any, at: int) -> list[dict[str, Any]]:
    """The events of the reply `Hello there`, with another value at a path in one of them."""
    return changed(message_events([text_block("Hello there")]), at, *path_and_value)


def with_call(*path_and_value: Any, at: int) -> list[dict[str, Any]]:
    """The events of a reply that calls a tool."""
    blocks = [tool_block("bash", '{"command": "touch made"}', call_id="t1")]
    return changed(message_events(blocks, stop_reason="tool_use"), at, *path_and_value)


def changed(events: list[dict[str, Any]], at: int, *path_and_value: Any) -> list[dict[str, Any]]:
    *path, last, value = path_and_value
    owner = events[at]
    for step in path:
        owner = owner[step]
    owner[last] = value
    return events


START, BLOCK, DELTA, END = 0, 2, 3, 6
"""Places in the events: the start of the message and of its block, a delta, and the delta of the message."""
COUNT = "must be a whole number from 0 to 1000000000000, not"
NAME = "must be 1 to 256 printable characters, not"

SHAPES = [
    (with_call("content_block", "id", None, at=BLOCK), "content[0].id must be text, not null"),
    (with_text("delta", "text", None, at=DELTA), "content[0].delta.text must be text, not null"),
    (with_text("usage", "output_tokens", float("inf"), at=END), f"usage.output_tokens {COUNT} Infinity"),
    (with_text("message", None, at=START), "message must be an object, not null"),
]


@pytest.mark.parametrize(("sent", "reason"), SHAPES, ids=[reason[:60] for _, reason in SHAPES])
def test_a_malformed_reply_ends_with_one_error_and_a_whole_stream(zot, server: MessagesServer, sent, reason):
    server.add(events_reply(sent))
    outcome = zot.run("--json", "--base-url", server.base_url, "go").check(Status.ERROR)
    *_, result, done = outcome.records
    assert isinstance(result, Result)
    assert isinstance(done, Done)
    assert result.reason.startswith(f"anthropic: the model's reply is not valid: {reason}")
    assert len(result.reason) < 700
    assert outcome.warnings[0] == f"zot: {result.reason.splitlines()[0]}"
    assert outcome.of(TurnEnd)[-1].stop == "error"
    assert "Traceback" not in outcome.stderr
    assert not (zot.cwd / "made").exists()
    check_transcript(zot.session_rows())


def test_arguments_nested_too_deeply_cost_their_call_only(zot, server: MessagesServer):
    args = '{"command": "touch made", "x": ' + "[" * 1_000 + "]" * 1_000 + "}"
    server.add(raw_tool_reply(args, name="bash"), text_reply("I see."))
    flags = "--json", "--base-url", server.base_url, "--record", "tape.jsonl"
    outcome = zot.run(*flags, "go").check(Status.OK)
    assert outcome.tool_texts() == ["invalid args: nested deeper than 100 levels"]
    assert not (zot.cwd / "made").exists()
    assert outcome.of(ToolCall)[0].args == msgspec.Raw(b"null")
    check_transcript(zot.session_rows())
    assert zot.run("--json", "--replay", "tape.jsonl", "go").check(Status.OK).result.text == "I see."


def test_what_came_before_the_fault_is_counted_and_kept(zot, server: MessagesServer):
    server.add(events_reply(with_text("usage", "output_tokens", "5", at=END)))
    outcome = zot.run("--json", "--base-url", server.base_url, "go").check(Status.ERROR)
    assert outcome.result.text == "Hello there"
    assert (outcome.of(Usage)[-1].input, outcome.result.usage.input) == (10, 10)
