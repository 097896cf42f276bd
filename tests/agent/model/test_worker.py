"""The model worker as a process, against a server that speaks the real protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.agent.model.worker_process import WORKER, WorkerProcess, text_of
from tests.messages_server import (
    MessagesServer,
    drop_before_headers,
    drop_midway,
    error_event,
    events_reply,
    hold_first_byte,
    http_error,
    message_events,
    raw_reply,
    raw_tool_reply,
    redacted_block,
    stall_midway,
    text_block,
    text_reply,
    thinking_block,
    tool_block,
    tool_reply,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-ant-test"


@pytest.fixture(scope="module")
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture(scope="module")
def shared(server: MessagesServer) -> Iterator[WorkerProcess]:
    """One worker without retries for all tests that can share it: each start takes a second."""
    with WorkerProcess(server.base_url, api_key=KEY) as worker:
        assert worker.read() == {"type": "ready"}
        yield worker


@pytest.fixture
def worker(shared: WorkerProcess, server: MessagesServer) -> Iterator[WorkerProcess]:
    yield shared
    assert server.unused == 0, "the worker did not ask for every reply of the script"


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
    server.add(text_reply("one"), text_reply("two"))
    worker.ask()
    worker.ask()
    first, second = server.requests[-2:]
    # The rest of the first reply is read behind the scenes; it may still be when the second request is made at once.
    assert second.connection - first.connection in (0, 1)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request"),
        (401, "authentication"),
        (402, "invalid_request"),
        (403, "authentication"),
        (404, "invalid_request"),
        (408, "timeout"),
        (413, "invalid_request"),
        (422, "invalid_request"),
        (429, "rate_limit"),
        (500, "server"),
        (503, "server"),
        (529, "overloaded"),
    ],
)
def test_http_errors(worker: WorkerProcess, server: MessagesServer, status: int, kind: str) -> None:
    server.add(http_error(status, "because\nof this"))
    assert worker.ask() == [
        {
            "type": "error",
            "kind": kind,
            "status": status,
            "message": f"anthropic: HTTP {status}: because of this",
            "retry_after_s": None,
            "content": [],
            "usage": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0},
        }
    ]


def test_an_overloaded_error_counts_whatever_its_status(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(http_error(503, error_type="overloaded_error"))
    assert worker.ask()[-1]["kind"] == "overloaded"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": 17}, 17.0),
        ({"retry_after_ms": 250}, 0.25),
        ({"retry_after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_retry_after_is_reported(worker: WorkerProcess, server: MessagesServer, headers, seconds: float) -> None:
    server.add(http_error(429, **headers))
    assert worker.ask()[-1]["retry_after_s"] == seconds


def test_an_error_body_that_is_not_json_is_shown_on_one_bounded_line(
    worker: WorkerProcess, server: MessagesServer
) -> None:
    server.add(raw_reply(b"<html>\n<h1>Bad gateway</h1>\n" + b"x" * 9000, status=502, content_type="text/html"))
    message = worker.ask()[-1]["message"]
    assert message.startswith("anthropic: HTTP 502: <html> <h1>Bad gateway</h1> xxx")
    assert "\n" not in message
    assert len(message) < 600


def test_the_key_is_never_part_of_a_message(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(http_error(401, f"invalid key {KEY}!"))
    assert worker.ask()[-1]["message"] == "anthropic: HTTP 401: invalid key [API key]!"


@pytest.mark.parametrize(
    ("error_type", "kind"),
    [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limit"),
        ("authentication_error", "authentication"),
        ("permission_error", "authentication"),
        ("invalid_request_error", "invalid_request"),
        ("api_error", "server"),
        ("brand_new_error", "server"),
    ],
)
def test_an_error_inside_the_stream(worker: WorkerProcess, server: MessagesServer, error_type: str, kind: str) -> None:
    events = message_events([text_block("partial answer", chunks=1)], input_tokens=12)
    server.add(events_reply([*events[:4], error_event(error_type, "sorry")]))
    error = worker.ask()[-1]
    assert (error["kind"], error["status"]) == (kind, None)
    assert error["message"] == f"anthropic: {error_type}: sorry"
    assert error["content"] == [{"type": "text", "text": "partial answer"}]
    assert error["usage"]["input"] == 12


def test_a_connection_that_closes_before_the_reply(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(drop_before_headers())
    error = worker.ask()[-1]
    assert error["kind"] == "connection"
    assert server.base_url in error["message"]


def test_a_connection_that_resets_before_the_reply(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(drop_before_headers(reset=True))
    assert worker.ask()[-1]["kind"] == "connection"


@pytest.mark.parametrize("reset", [False, True])
def test_a_stream_that_breaks_off_gives_what_came(worker: WorkerProcess, server: MessagesServer, reset: bool) -> None:
    whole = tool_reply([("read", {"path": "abcdef"})], text="Let me look")
    # message_start, ping, the text block (4 events), the start of the call, the empty delta, half of the arguments
    server.add(drop_midway(stall_midway(whole, after=9), after=10, reset=reset))
    request = worker.start()
    lines = []
    while not any(line["type"] == "tool_use_args" for line in lines):
        lines.append(worker.read())
    server.release()
    error = worker.finish(request)[-1]
    assert error["kind"] == "dropped"
    text, call = error["content"]
    assert text == {"type": "text", "text": "Let me look"}
    assert (call["type"], call["args"]) == ("tool_call", '{"path": ')
    assert not any(line["type"] == "tool_use_end" for line in lines)


def test_a_stream_that_just_ends_is_dropped(worker: WorkerProcess, server: MessagesServer) -> None:
    events = message_events([text_block("looks complete")])
    server.add(events_reply(events[:-1]))  # no message_stop
    server.add(events_reply(events[:-2]))
    server.add(events_reply(message_events([text_block("x")], stop_reason=None)))
    for _ in range(3):
        error = worker.ask()[-1]
        assert error["kind"] == "dropped"
        assert error["message"] == "anthropic: the stream ended before the reply was complete"


@pytest.mark.parametrize(
    "body",
    [
        b"event: message_start\ndata: {nonsense\n\n",
        b"event: message_start\ndata: [1]\n\n",
        b'event: message_start\ndata: {"type":"message_start"}\n\n',
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":null}\n\n',
        b'event: message_start\ndata: {"type":"message_start","message":"\xff"}\n\n',
        b"event: error\ndata: not json\n\n",
        b'data: {"no type": 1}\n\n',
    ],
)
def test_a_malformed_stream_is_a_protocol_error(worker: WorkerProcess, server: MessagesServer, body: bytes) -> None:
    server.add(raw_reply(body))
    assert worker.ask()[-1]["kind"] == "protocol"


def test_an_answer_that_is_no_stream_is_a_protocol_error(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(raw_reply(b"<html>log in first</html>", content_type="text/html"))
    error = worker.ask()[-1]
    assert error["kind"] == "protocol"
    assert "answered with text/html" in error["message"]


def test_a_redirect_is_reported_not_followed(worker: WorkerProcess, server: MessagesServer) -> None:
    reply = raw_reply(b"", status=307)
    server.add(type(reply)(reply.steps, 307, {"location": "https://example.invalid/v1/messages"}))
    error = worker.ask()[-1]
    assert (error["kind"], error["status"]) == ("invalid_request", 307)
    assert "https://example.invalid/v1/messages" in error["message"]


def test_arguments_that_the_sdk_refuses(worker: WorkerProcess) -> None:
    error = worker.ask(temperature=1)[-1]
    assert error["kind"] == "invalid_request"
    assert "temperature" in error["message"]


def test_a_server_that_keeps_the_connection_open_does_not_hold_up_the_next_request(
    worker: WorkerProcess, server: MessagesServer
) -> None:
    whole = text_reply("first")
    server.add(stall_midway(whole, after=len(whole.steps)), text_reply("second"))
    assert worker.ask()[-1]["type"] == "final"
    server.wait_until_held()
    assert worker.ask()[-1]["content"] == [{"type": "text", "text": "second"}]
    server.release()


def test_retries_follow_retry_after_and_are_capped() -> None:
    replies = [
        http_error(429, retry_after_ms=300),
        http_error(529, retry_after_ms=5),
        text_reply("at last"),
        http_error(429, "first", retry_after=3600),
        *(http_error(500, retry_after_ms=1) for _ in range(3)),
        http_error(400, retry_after_ms=1),
    ]
    with MessagesServer(*replies) as server, WorkerProcess(server.base_url, max_retries=2) as worker:
        assert worker.ask()[-1]["type"] == "final"
        first, second, _ = server.requests
        assert 0.3 <= second.at - first.at < 3

        before = time.monotonic()
        error = worker.ask()[-1]
        assert time.monotonic() - before < 30
        assert (error["kind"], error["retry_after_s"]) == ("rate_limit", 3600)
        assert len(server.requests) == 4, "a wait of an hour is left to the host"

        assert worker.ask()[-1]["kind"] == "server"
        assert len(server.requests) == 7, "one try and two retries"

        assert worker.ask()[-1]["kind"] == "invalid_request"
        assert len(server.requests) == 8, "no retry of a request that is wrong"


def test_silence_is_a_timeout_before_and_within_the_reply() -> None:
    whole = text_reply("partial")
    with (
        MessagesServer(hold_first_byte(whole), stall_midway(whole, after=4)) as server,
        WorkerProcess(server.base_url, idle_timeout_s=0.3) as worker,
    ):
        error = worker.ask()[-1]
        assert error["kind"] == "timeout"
        assert error["message"] == f"anthropic: {server.base_url} sent nothing for 0.3 s"
        error = worker.ask()[-1]
        assert error["kind"] == "timeout"
        assert error["content"] == [{"type": "text", "text": "part"}]


def test_nobody_listens() -> None:
    with MessagesServer() as server:
        url = server.base_url
    with WorkerProcess(url) as worker:
        error = worker.ask()[-1]
    assert error["kind"] == "connection"
    assert "refused" in error["message"]


def test_no_key_and_no_base_url_asks_nobody() -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-ant-from-env", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    with WorkerProcess(None, api_key=None, env=environment) as worker:
        assert worker.ask()[-1]["kind"] == "authentication"
        assert worker.ask()[-1]["message"] == "anthropic: no API key"


def test_no_key_with_a_base_url_sends_the_request_and_no_key_of_the_environment(tmp_path) -> None:
    profile = tmp_path / "configs" / "default.json"
    profile.parent.mkdir()
    profile.write_text("not even json")
    environment = {
        "ANTHROPIC_API_KEY": "sk-ant-from-env",
        "ANTHROPIC_AUTH_TOKEN": "token-from-env",
        "ANTHROPIC_CONFIG_DIR": str(tmp_path),
    }
    with (
        MessagesServer(text_reply("ok")) as server,
        WorkerProcess(server.base_url, api_key=None, env=environment) as worker,
    ):
        assert worker.ask()[-1]["type"] == "final"
        assert "from-env" not in json.dumps(server.requests[0].headers)


def test_a_key_that_no_header_can_carry_is_not_shown() -> None:
    with MessagesServer() as server, WorkerProcess(server.base_url, api_key="sk-ant-\n…") as worker:
        error = worker.ask()[-1]
    assert error["kind"] == "authentication"
    assert "sk-ant" not in error["message"]


def test_it_ends_when_the_host_goes_away_in_the_middle_of_a_reply() -> None:
    with (
        MessagesServer(stall_midway(text_reply("partial"), after=4)) as server,
        WorkerProcess(server.base_url) as worker,
    ):
        worker.start()
        server.wait_until_held()
        assert worker.process.stdin
        worker.process.stdin.close()
        assert worker.process.wait(10) == 0


def test_it_ends_at_the_end_of_input_and_by_sigterm() -> None:
    with WorkerProcess("http://127.0.0.1:9") as idle, WorkerProcess("http://127.0.0.1:9") as killed:
        idle.read()
        killed.read()
        killed.process.terminate()
        assert killed.process.wait(10) == -15
        assert idle.process.stdin
        idle.process.stdin.close()
        assert idle.process.wait(10) == 0


NOISY = """
import builtins, runpy, sys
real = builtins.__import__
def noisy(name, *rest):
    if name == "anthropic":
        print("NOISE", flush=True)
    return real(name, *rest)
builtins.__import__ = noisy
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_stray_prints_do_not_reach_the_host() -> None:
    configure = {"type": "configure", "api_key": "k", "base_url": None, "max_retries": 0, "idle_timeout_s": 1}
    process = subprocess.run(
        [sys.executable, "-c", NOISY, str(WORKER)], input=json.dumps(configure).encode() + b"\n", capture_output=True
    )
    assert b"NOISE" in process.stderr
    assert b"NOISE" not in process.stdout
    assert process.returncode == 0


def test_a_package_named_agent_in_the_way_does_not_matter(tmp_path) -> None:
    for name in ("agent", "failure", "reply"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    with WorkerProcess("http://127.0.0.1:9", env={"PYTHONPATH": os.fspath(tmp_path)}) as worker:
        assert worker.read() == {"type": "ready"}
