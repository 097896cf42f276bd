"""The lines that the model worker sends for a reply of a server that speaks the real protocol."""

from __future__ import annotations

import json

import pytest

from tests.support.messages_server import (
    MessagesServer,
    events_reply,
    message_events,
    raw_tool_reply,
    redacted_block,
    stall_midway,
    text_block,
    text_reply,
    thinking_block,
    tool_block,
    tool_reply,
)
from tests.support.model_worker_process import KEY, WorkerProcess, text_of


def test_text_streams_and_ends_with_the_whole_reply(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(text_reply("Hello, wörld \u2028 😀", input_tokens=7, output_tokens=9))
    lines = worker.ask()
    assert [line["type"] for line in lines] == ["message_start", "text_delta", "text_delta", "final"]
    assert text_of(lines) == "Hello, wörld \u2028 😀"
    assert lines[-1] == {
        "type": "final",
        "content": [{"type": "text", "text": "Hello, wörld \u2028 😀"}],
        "stop_reason": "end_turn",
        "usage": {"input": 7, "output": 9, "cache_read": 0, "cache_write": 0},
    }


def test_params_arrive_as_they_were_given(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(text_reply("ok"))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    system = [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]
    params = {
        "model": "some-model",
        "max_tokens": 17,
        "system": system,
        "messages": [{"role": "user", "content": [image]}],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
    }
    worker.ask(**params)
    received = server.requests[-1]
    assert received.body == {**params, "stream": True}
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.path == "/v1/messages"


def test_cache_usage_is_merged_from_start_and_end(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(text_reply("x", input_tokens=3, output_tokens=40, cache_read=1000, cache_write=200))
    lines = worker.ask()
    assert lines[0]["usage"] == {"input": 3, "output": 1, "cache_read": 1000, "cache_write": 200}
    assert lines[-1]["usage"] == {"input": 3, "output": 40, "cache_read": 1000, "cache_write": 200}


def test_thinking_keeps_its_signature_and_redacted_thinking_its_data(
    worker: WorkerProcess, server: MessagesServer
) -> None:
    server.add(
        events_reply(message_events([thinking_block("hmm, well", "c2ln"), redacted_block("ENC"), text_block("done")]))
    )
    lines = worker.ask()
    assert text_of(lines, "thinking_delta") == "hmm, well"
    assert lines[-1]["content"] == [
        {"type": "thinking", "text": "hmm, well", "signature": "c2ln"},
        {"type": "thinking", "redacted": "ENC"},
        {"type": "text", "text": "done"},
    ]


def test_tool_calls_start_stream_and_end_in_order(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(tool_reply([("read", {"path": "a"}), ("bash", {"command": "ls"})], text="Looking.", thinking="t"))
    lines = worker.ask()
    calls = [line for line in lines if line["type"].startswith("tool_use")]
    first, second = (block for block in lines[-1]["content"] if block["type"] == "tool_call")
    starts = [(line["call_id"], line["name"]) for line in calls if line["type"] == "tool_use_start"]
    assert starts == [(first["id"], "read"), (second["id"], "bash")]
    order = [(line["type"], line["call_id"]) for line in calls]
    assert order.index(("tool_use_end", first["id"])) < order.index(("tool_use_start", second["id"]))
    assert json.loads(first["args"]) == {"path": "a"}
    streamed = "".join(line["delta"] for line in calls if line.get("call_id") == second["id"] and "delta" in line)
    assert streamed == second["args"]
    assert lines[-1]["stop_reason"] == "tool_use"


@pytest.mark.parametrize("args", ['{"path": "a', "nonsense", "[1, 2]", '{"a":1}}', '{"n": NaN}'])
def test_invalid_arguments_pass_through_untouched(worker: WorkerProcess, server: MessagesServer, args: str) -> None:
    server.add(raw_tool_reply(args, call_id="toolu_x"))
    final = worker.ask()[-1]
    assert final["content"] == [{"type": "tool_call", "id": "toolu_x", "name": "read", "args": args}]


def test_no_arguments_are_an_empty_object(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(raw_tool_reply(""))
    assert worker.ask()[-1]["content"][0]["args"] == "{}"


def test_arguments_that_come_with_the_start_of_the_block_count(worker: WorkerProcess, server: MessagesServer) -> None:
    block = tool_block("read", "", call_id="t1")
    block[0]["content_block"]["input"] = {"path": "x"}
    server.add(events_reply(message_events([block], stop_reason="tool_use")))
    lines = worker.ask()
    assert json.loads(text_of(lines, "tool_use_args")) == {"path": "x"}
    assert json.loads(lines[-1]["content"][0]["args"]) == {"path": "x"}


def test_unknown_events_blocks_and_deltas_are_passed_over(worker: WorkerProcess, server: MessagesServer) -> None:
    text = text_block("kept")
    text.insert(1, {"type": "content_block_delta", "delta": {"type": "citations_delta", "citation": {}}})
    strange = [
        {"type": "content_block_start", "content_block": {"type": "hologram", "data": 1}},
        {"type": "content_block_delta", "delta": {"type": "hologram_delta", "data": 2}},
        {"type": "content_block_stop"},
    ]
    events = [*message_events([strange, text])]
    events.insert(1, {"type": "weather_report", "sky": "blue"})
    server.add(events_reply(events))
    assert worker.ask()[-1]["content"] == [{"type": "text", "text": "kept"}]


def test_a_lone_surrogate_does_not_break_the_line(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(text_reply("a\ud800b"))
    assert worker.ask()[-1]["content"][0]["text"].startswith("a?b")


def test_requests_reuse_the_connection(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(*(text_reply("again") for _ in range(10)))
    for _ in range(10):
        worker.ask()
    # Perhaps two: the last bytes of a reply may still be read when the next request is made.
    assert len({request.connection for request in server.requests[-10:]}) < 5


def test_a_server_that_keeps_the_connection_open_does_not_hold_up_the_next_request(
    worker: WorkerProcess, server: MessagesServer
) -> None:
    whole = text_reply("first")
    server.add(stall_midway(whole, after=len(whole.steps)), text_reply("second"))
    assert worker.ask()[-1]["type"] == "final"
    server.wait_until_held()
    assert worker.ask()[-1]["content"] == [{"type": "text", "text": "second"}]
    server.release()
