"""The words of the model: events of its stream, lines of its worker, and recordings of them; and the sessions."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import orjson

from agent.cassette import CassetteError, CassettePlayer
from agent.cassette.reply_lines import problem_of_worker_line
from agent.model.access import find_access
from agent.model.anthropic_provider import AnthropicProvider
from agent.model.replay_provider import ReplayProvider
from agent.model.request import blocks_from_worker
from agent.model.worker import worker_main
from agent.model.worker.connection import Connection
from agent.sessions.file import SessionFile
from agent.sessions.rows import Meta
from agent.transcript import Message, Text, ToolCall, ToolResult
from supervisor.loop.loop import Loop
from tests.fuzz import seeds
from tests.fuzz.prompt import prompt, without_fsync
from tests.fuzz.stage import PretendedChild, pieces
from tests.fuzz.target import Target
from tests.support.messages_server.replies import message_events, redacted_block, text_block, thinking_block, tool_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

USAGE = {"input": 9, "output": 8, "cache_read": 7, "cache_write": 6, "reasoning": 5}
THOUGHT = {"thinking_tokens": 3}
CALL = {"type": "tool_call", "id": "t1", "name": "read", "args": '{"path":"a"}'}
BLOCKS = (
    {"type": "text", "text": "Hello"},
    {"type": "thinking", "text": "hm", "signature": "c2ln"},
    {"type": "thinking", "redacted": "ENC"},
    CALL,
)
SETTINGS = {"api_key": "k" * 20, "auth_token": None, "base_url": "http://x", "max_retries": 0, "idle_timeout_s": 1.0}


def _final(stop: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "final", "content": list(content), "stop_reason": stop, "usage": USAGE}


def _error(**more: Any) -> dict[str, Any]:
    plain = {"type": "error", "kind": "overloaded", "status": 529, "message": "busy", "retry_after_s": 3, "fault": None}
    return {**plain, "content": [], "usage": USAGE, **more}


def worker_replies() -> list[bytes]:
    """Whole replies as the model worker writes them, with the id of the first request."""
    start = {"type": "message_start", "usage": USAGE}
    text = [{"type": "text_delta", "delta": "Hel"}, {"type": "text_delta", "delta": "lo"}]
    thinking = [{"type": "thinking_delta", "delta": "hm"}]
    call = [
        {"type": "tool_use_start", "call_id": "t1", "name": "read"},
        {"type": "tool_use_args", "call_id": "t1", "delta": '{"path":"a"}'},
        {"type": "tool_use_end", "call_id": "t1"},
    ]
    retry = {"type": "retry", "attempt": 2, "of": 3, "wait_s": 0.5, "reason": "busy", "status": 529}
    replies = (
        [start, *text, _final("end_turn", BLOCKS[0])],
        [start, *thinking, *text, *call, _final("tool_use", *BLOCKS)],
        [start, *text, _final("max_tokens", BLOCKS[0])],
        [start, *text, _error(content=[BLOCKS[0]])],
        [retry, start, *text, _final("refusal", BLOCKS[0])],
        [_error(kind="authentication", status=401)],
        [_error(kind="connection", status=None, fault="refused")],
    )
    recorded = [json.loads(line)["reply"] for line in seeds.cassettes()[0].splitlines()[1:]]
    ready = seeds.as_line({"type": "ready", "whole_sdk": ""})
    return [ready + b"".join(seeds.as_line({**line, "id": "1"}) for line in reply) for reply in (*replies, *recorded)]


class SayingWorker(PretendedChild):
    """A model worker that answers each request with `text`, and then ends."""

    text = b""

    def __init__(self, loop: Loop, argv: object, **options: Any) -> None:
        super().__init__(loop, argv, **options)
        self._loop = loop

    def send(self, data: bytes) -> bool:
        if data.startswith(b'{"type":"request"'):
            number = json.loads(data)["id"]
            self._loop.call_later(
                0, lambda: self._answer(self.text.replace(b'"id":"1"', b'"id":"%s"' % number.encode()))
            )
        return self.is_running

    def _answer(self, text: bytes) -> None:
        for piece in pieces(text):
            self.write(piece)
        self.end(1)


@contextmanager
def replies(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A run goes on, or ends with a status, whatever the model worker says."""
    access = find_access({}, base_url="http://127.0.0.1:9", api_key="k" * 20)

    def take(data: bytes) -> None:
        loop = Loop(lambda: 1000.0)
        SayingWorker.text = data
        try:
            prompt(loop, AnthropicProvider(loop, access), folder)
        finally:
            loop.close()

    with mock.patch("agent.model.worker_process.Child", SayingWorker):
        yield take


class SayingConnection(Connection):
    """A connection whose server sends each line of `text` as the data of one stream event."""

    text = b""

    def _connect(self, *_: object) -> Any:
        return None

    def open(self, params: Any, *, retries: int = 0) -> Any:
        lines = self.text.decode("utf-8", "replace").split("\n")
        response = SimpleNamespace(close=lambda: None, headers={})
        events = [SimpleNamespace(event="", data=line, json=lambda line=line: json.loads(line)) for line in lines]
        return SimpleNamespace(raw_events=lambda _response: iter(events), response=response)


@contextmanager
def streams(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """Whatever the server sends, the worker ends the reply with one last line, and each line is valid."""
    out = os.open(folder / "out", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    thread = SimpleNamespace(Thread=lambda **_: SimpleNamespace(start=lambda: None))

    def take(data: bytes) -> None:
        os.ftruncate(out, 0)
        SayingConnection.text = data
        worker_main.Worker(SETTINGS, out).serve("1", {})
        lines = [orjson.loads(line) for line in os.pread(out, 1 << 24, 0).splitlines()]
        assert [line["type"] in ("final", "error") for line in lines] == [False] * (len(lines) - 1) + [True]
        for line in lines:
            assert (problem := problem_of_worker_line(line)) is None, problem

    with (
        mock.patch("agent.model.worker.worker_main.Connection", SayingConnection),
        mock.patch("agent.model.worker.worker_main.threading", thread),
    ):
        try:
            yield take
        finally:
            os.close(out)


def server_streams() -> list[bytes]:
    calls = [text_block("Looking."), tool_block("read", '{"path": "a"}', call_id="t1")]
    replies = (
        message_events([text_block("Hello")]),
        message_events([thinking_block("hmm", "c2ln"), redacted_block("ENC"), text_block("done")], details=THOUGHT),
        message_events(calls, stop_reason="tool_use"),
    )
    return [b"".join(map(seeds.as_line, reply)) for reply in replies]


@cache
def demo_requests() -> tuple[dict[str, Any], ...]:
    """The requests of the demo, as a run in `/work` makes them."""
    text = seeds.cassettes()[0]
    for placeholder, value in ((b"{{cwd}}", b"/work"), (b"{{date}}", b"2026-01-01"), (b"{{time}}", b"1.2s")):
        text = text.replace(placeholder, value)
    return tuple(json.loads(line)["request"] for line in text.splitlines()[1:])


class DemoRequests(ReplayProvider):
    """Plays a cassette for the requests of the demo: each time for that one which is recorded next."""

    def request(self, params: dict[str, Any]) -> Any:
        for asked in demo_requests():
            left = self._player.remaining
            stream = super().request(asked)
            if self._player.remaining < left:
                return stream
        return super().request(params)


@contextmanager
def cassettes(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A cassette is refused, or the run with it ends with a status and leaves a whole session."""
    file = folder / "cassette.jsonl"

    def take(data: bytes) -> None:
        file.write_bytes(data)
        try:
            player = CassettePlayer.load(file, cwd="/work", home="/home/me")
        except CassetteError:
            return
        _ = player.model
        loop = Loop(lambda: 1000.0)
        try:
            prompt(loop, DemoRequests(player), folder, session=True)
        finally:
            loop.close()

    with without_fsync():
        yield take


@contextmanager
def sessions(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A session holds the model's blocks, the results of tools and the arguments as the model wrote them: each line of
    it is JSON. `data` is a list of blocks, or else the text of arguments."""

    def take(data: bytes) -> None:
        session = SessionFile.new(folder, Meta(cwd="/x", provider="p", model="m", version="1"))
        try:
            for message in _messages(data):
                session.message(message)
            session.close()
            if session.path.exists():
                for line in session.path.read_bytes().split(b"\n")[:-1]:
                    assert isinstance(orjson.loads(line), dict)
                session.path.unlink()
        finally:
            session.close()

    with without_fsync():
        yield take


def _messages(data: bytes) -> list[Message]:
    found = [Message("assistant", (ToolCall("t", "n", data),), "now")]
    try:
        blocks = orjson.loads(data)
        final = {"type": "final", "content": blocks, "stop_reason": "end_turn", "usage": {}}
        if problem_of_worker_line(final) is None:
            found.append(Message("assistant", blocks_from_worker(blocks), "now"))
    except (ValueError, RecursionError):
        found.append(Message("tool", (ToolResult("t", (Text(data.decode("utf-8", "replace")),)),), "now"))
    return found


TARGETS = (
    Target("model_replies", worker_replies, replies, 180),
    Target("model_streams", server_streams, streams, 380),
    Target("cassettes", lambda: list(seeds.cassettes()), cassettes, 130),
    Target("sessions", lambda: [seeds.as_line(list(BLOCKS)), CALL["args"].encode()], sessions, 250),
)
