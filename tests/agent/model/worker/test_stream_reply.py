"""Putting a reply together from events, without a process or a network."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cassette.reply_lines import problem_of_worker_line
from agent.model.failure import ErrorKind, ModelError
from agent.model.worker import stream_reply
from agent.model.worker.stream_reply import StreamedReply
from tests.support.any_json import json_values, with_another_value
from tests.support.messages_server import message_events, redacted_block, text_block, thinking_block, tool_block

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


@pytest.mark.parametrize(
    ("details", "reasoning"),
    [
        ({"thinking_tokens": 7}, 7),
        ({"thinking_tokens": 0, "other_tokens": 3}, 0),
        ({"thinking_tokens": 10**12}, 10**12),
        ({"thinking_tokens": 10**12 + 1}, None),
        ({"thinking_tokens": -1}, None),
        ({"thinking_tokens": "7"}, None),
        ({"thinking_tokens": 7.5}, None),
        ({"thinking_tokens": True}, None),
        ({"thinking_tokens": None}, None),
        ({"thinking_tokens": [7]}, None),
        ({}, None),
        (None, None),
        (7, None),
        ([{"thinking_tokens": 7}], None),
    ],
)
def test_reasoning_is_counted_if_the_provider_says_a_count_and_no_reply_fails_for_another_word(
    details: object, reasoning: int | None
) -> None:
    reply = StreamedReply()
    usage = {"output_tokens": 9, "output_tokens_details": details}
    lines_of(reply, [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}])
    assert reply.usage["output"] == 9
    assert reply.usage.get("reasoning") == reasoning


@pytest.mark.parametrize(
    ("created", "hour"),
    [
        ({"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 7}, 7),
        ({"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 0}, None),
        ({"ephemeral_1h_input_tokens": "7"}, None),
        ([7], None),
        (None, None),
    ],
)
def test_the_part_that_is_cached_for_an_hour_is_counted(created: object, hour: int | None) -> None:
    usage = {"cache_creation_input_tokens": 9, "cache_creation": created}
    reply = StreamedReply()
    lines_of(reply, [{"type": "message_start", "message": {"usage": usage}}])
    assert (reply.usage["cache_write"], reply.usage.get("cache_write_1h")) == (9, hour)


def test_the_last_count_of_reasoning_holds() -> None:
    reply = StreamedReply()
    for details in ({"thinking_tokens": 1}, {"thinking_tokens": 5}, {"thinking_tokens": "x"}, {}):
        lines_of(reply, [{"type": "message_delta", "delta": {}, "usage": {"output_tokens_details": details}}])
    assert reply.usage["reasoning"] == 5


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


WHOLE = message_events(
    [
        text_block("Hello"),
        thinking_block("hm"),
        redacted_block("xyz"),
        tool_block("read", '{"path": "a"}', call_id="t"),
    ],
    stop_reason="tool_use",
)


def fault_of(events: list[Any]) -> str:
    """The fault of a reply, or "" if it has none. The host takes every line of it in both cases."""
    reply, fault = StreamedReply(), ""
    lines: list[dict[str, Any]] = []
    try:
        for event in events:
            lines += reply.feed(event)
    except ModelError as error:
        rule, _, fault = str(error).partition(": ")
        lines.append({"type": "error", "kind": error.kind.value, "message": rule})
    last = {"type": "final", "content": reply.content(), "stop_reason": reply.stop_reason or "", "usage": reply.usage}
    assert [problem for line in [*lines, last] if (problem := problem_of_worker_line(line))] == []
    assert not fault or lines[-1] == {"type": "error", "kind": "protocol", "message": "the model's reply is not valid"}
    return fault


@given(st.data())
def test_any_value_in_any_field_gives_a_reply_or_one_fault_with_its_path(data):
    events = with_another_value(WHOLE, data)
    fault = fault_of([event for event in events if isinstance(event, dict)])
    assert len(fault) < 500
    assert not fault or fault.startswith(("content", "message", "usage", "delta", "stop_reason", "index", "type"))


@given(st.lists(st.sampled_from(WHOLE) | st.dictionaries(st.sampled_from(["type", "index"]), json_values)))
def test_events_in_any_order_give_a_reply_or_one_fault(events):
    fault_of(events)


def block(content: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ({"id": "msg_1", "model": "m"}, {"reply_id": "msg_1", "model": "m"}),
        ({"id": "x" * 1000, "model": ""}, {"reply_id": "x" * 256, "model": ""}),
        ({"id": None, "model": ["m"]}, {}),
        ({}, {}),
    ],
)
def test_a_name_of_a_reply_that_is_none_is_left_out(names, shown):
    (line,) = StreamedReply().feed({"type": "message_start", "message": names})
    assert {name: value for name, value in line.items() if name not in ("type", "usage")} == shown
    assert problem_of_worker_line(line) is None


TEXT, CALL = {"type": "text", "text": ""}, {"type": "tool_use", "id": "t", "name": "read", "input": {}}
END = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([delta(3, type="text_delta", text="x")], "content[3] has a delta before its start"),
        ([block(TEXT), block(TEXT)], "content[0] starts twice"),
        ([WHOLE[0], WHOLE[0]], "message_start comes twice"),
        (
            [block(TEXT), {"type": "content_block_stop", "index": 0}, delta(0, type="text_delta", text="x")],
            "content[0] has a delta after its end",
        ),
        ([block(CALL), block(CALL, 1)], 'content[1].id "t" is that of another call'),
        ([block({**CALL, "input": ["x"]})], "content[0].input must be an object, not a list"),
        ([block({"type": "redacted_thinking"})], "content[0].data must be text, not missing"),
        ([block({"type": "thinking"}), delta(0, type="signature_delta", signature=None)],
         "content[0].delta.signature must be text, not null"),
        ([block(None)], "content[0].content_block must be an object, not null"),
        ([block(TEXT, True)], "index must be a whole number from 0, not true"),
        ([{"type": "message_stop"}], "stop_reason must be text, not null"),
        ([{"type": 5}], "type must be text, not 5"),
        ([{"type": "message_delta", "delta": {}, "usage": {"output_tokens": 10**13}}],
         "usage.output_tokens must be a whole number from 0 to 1000000000000, not 10000000000000"),
    ],
)  # fmt: skip
def test_what_is_out_of_order_or_of_a_wrong_type_is_named(events, fault):
    assert fault_of(events) == fault


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "content_block_stop", "index": 0}],
        [{"type": "brand_new", "index": None}],
        [block({"type": "server_tool_use", "id": None}), delta(0, type="input_json_delta", partial_json=None)],
        [block(TEXT, 7), delta(7, type="citations_delta", citation={})],
        [block({"type": "text", "text": None}), block({"type": "thinking", "signature": None}, 2)],
        [{"type": "message_delta", "delta": {}, "usage": {"input_tokens": None, "output_tokens": 12.0}}],
        [{"type": "message_start", "message": {"usage": None}}],
    ],
)
def test_what_is_unknown_or_left_empty_is_ignored(events):
    assert fault_of([*events, *END]) == ""


def test_a_call_that_is_never_closed_ends_with_the_reply():
    lines = lines_of(StreamedReply(), [block(CALL), *END])
    assert [line["type"] for line in lines] == ["tool_use_start", "tool_use_end"]


@pytest.mark.parametrize(
    ("bound", "value", "events", "what"),
    [
        ("REPLY_CHARACTERS", 10, [block(TEXT), delta(0, type="text_delta", text="x" * 11)], "10 characters"),
        ("REPLY_BLOCKS", 2, [block(TEXT, index) for index in range(3)], "2 blocks"),
        ("REPLY_CALLS", 2, [block({**CALL, "id": f"t{index}"}, index) for index in range(3)], "2 tool calls"),
        ("REPLY_EVENTS", 2, [{"type": "ping"}] * 3, "2 events"),
    ],
)
def test_a_reply_is_bounded(monkeypatch, bound, value, events, what):
    monkeypatch.setattr(stream_reply, bound, value)
    reply = StreamedReply()
    with pytest.raises(ModelError, match=f"^the model's reply is too large: it has more than {what}$") as caught:
        lines_of(reply, events)
    assert caught.value.kind is ErrorKind.TOO_LARGE
    assert len(reply.content()) <= 2
