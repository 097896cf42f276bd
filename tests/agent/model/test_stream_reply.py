"""Putting a reply together from events, without a process or a network."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from agent.model.stream_reply import StreamedReply
from tests.support.messages_server import message_events, text_block, thinking_block, tool_block

texts = st.text(st.characters(codec="utf-8"), max_size=30)
chunks = st.integers(1, 8)


def lines_of(reply: StreamedReply, events: list[dict]) -> list[dict]:
    return [line for event in events for line in reply.feed(event)]


@given(st.lists(st.tuples(st.sampled_from(["text", "thinking", "tool"]), texts, chunks), max_size=5))
def test_deltas_add_up_to_the_blocks(parts) -> None:
    make = {
        "text": lambda text, count: text_block(text, chunks=count),
        "thinking": lambda text, count: thinking_block(text, chunks=count),
        "tool": lambda text, count: tool_block("t", text, chunks=count),
    }
    reply = StreamedReply()
    lines = lines_of(reply, message_events([make[kind](text, count) for kind, text, count in parts]))
    content = reply.content()
    assert reply.ended
    assert [block.get("text", block.get("args")) for block in content] == [
        text or ("{}" if kind == "tool" else "") for kind, text, _ in parts
    ]
    for kind, delta in (("text", "text_delta"), ("thinking", "thinking_delta"), ("tool", "tool_use_args")):
        streamed = "".join(line["delta"] for line in lines if line["type"] == delta)
        assert streamed == "".join(text for part, text, _ in parts if part == kind)
    calls = [line["call_id"] for line in lines if line["type"] == "tool_use_start"]
    assert calls == [line["call_id"] for line in lines if line["type"] == "tool_use_end"]
    assert calls == [block["id"] for block in content if block["type"] == "tool_call"]


@given(st.lists(st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), st.integers(0, 9) | st.none())))
def test_later_counts_win_unless_they_are_zero(usages) -> None:
    reply = StreamedReply()
    for usage in usages:
        lines_of(reply, [{"type": "message_delta", "delta": {}, "usage": usage}])
    for ours, theirs in (("input", "input_tokens"), ("output", "output_tokens")):
        counts = [usage[theirs] for usage in usages if usage.get(theirs)]
        assert reply.usage[ours] == (counts[-1] if counts else 0)


def test_the_content_so_far_can_be_read_at_any_time() -> None:
    reply = StreamedReply()
    events = message_events([text_block("abcd"), tool_block("read", '{"a": 1}', call_id="t")])
    lines_of(reply, events[:9])
    assert reply.content() == [
        {"type": "text", "text": "abcd"},
        {"type": "tool_call", "id": "t", "name": "read", "args": '{"a"'},
    ]
    assert not reply.ended


def test_many_small_deltas_take_linear_time() -> None:
    reply = StreamedReply()
    lines_of(reply, [{"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}])
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 10}}
    started = time.process_time()
    for _ in range(50_000):
        lines_of(reply, [delta])
    assert len(reply.content()[0]["text"]) == 500_000
    assert time.process_time() - started < 5
