"""A session of the dialect copilot with an extension that the test plays, without a process."""

from __future__ import annotations

import json
from typing import Any

from wire import frames
from wire.dialects.base import HostInfo, Setup
from wire.dialects.copilot.dialect import DIALECT
from wire.framing import Oversize
from wire.framing.content_length import ContentSplitter, add_header

HOST = HostInfo("1.2", "anthropic", "m", "/project", "s-1", "/work/s-1")
UNIX_MS = 1_767_225_600_123
"""2026-01-01T00:00:00.123Z"""
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def dumped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def tool(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "description": f"tool {name}", "parameters": SCHEMA, **more}


class Talk:
    """The messages of the host and the extension. Methods that hear or send return the new ones."""

    def __init__(self, *, host: HostInfo = HOST, frame_limit: int = 16 << 20, rejected: str = "") -> None:
        self.session = DIALECT.session(Setup("desk", "1.2", frame_limit, unix_ms=lambda: UNIX_MS))
        self.splitter = self.session.splitter()
        self.host = host
        self.rejected = rejected
        self.number = 0
        self.sent: list[dict[str, Any]] = []
        assert self.session.opening == b""

    def keep(self, data: bytes) -> list[dict[str, Any]]:
        """Keeps what the host sends, which is whole messages."""
        splitter = ContentSplitter()
        said = [
            json.loads(bytes(line).decode("utf-8", "replace"))
            for line in splitter.feed(data)
            if not isinstance(line, Oversize)
        ]
        assert splitter.pending == 0
        assert all(each["jsonrpc"] == "2.0" for each in said)
        self.sent += said
        return said

    def hear(self, *said: bytes | dict[str, Any]) -> list[Any]:
        """The frames that the host reads from these messages or raw bytes; it answers a hello at once."""
        heard: list[Any] = []
        for each in said:
            for line in self.splitter.feed(each if isinstance(each, bytes) else add_header(dumped(each))):
                receive = self.session.receive_oversize if isinstance(line, Oversize) else self.session.receive
                messages, reply = receive(line, 0.0)
                heard += messages
                if any(isinstance(message, frames.Hello) for message in messages):
                    accepted = not self.rejected
                    greet, reject = self.session.greet, self.session.reject
                    self.keep(greet(self.host, "/ext", "/data", 5.0) if accepted else reject(self.rejected))
                self.keep(reply)
        return heard

    def request(self, method: str, **params: object) -> tuple[list[Any], dict[str, Any]]:
        """The frames that the host reads from a request, and its answer."""
        number = self.number
        self.number += 1
        heard = self.hear({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answers = [each for each in self.sent if "method" not in each and each["id"] == number]
        assert len(answers) == 1
        return heard, answers[0]

    def join(self, *tools: dict[str, Any], **params: object) -> tuple[list[Any], dict[str, Any]]:
        return self.request("session.resume", **{"sessionId": "s-1", "tools": list(tools), **params})

    def call(self, call_id: str, name: str = "t", args: bytes = b"{}") -> dict[str, Any]:
        (sent,) = self.keep(self.session.call(call_id, name, args))
        return sent

    def result(self, call_id: str, **params: object) -> list[Any]:
        """The frames that the host reads from an answer to a call."""
        heard, answer = self.request(
            "session.tools.handlePendingToolCall", sessionId="s-1", requestId=call_id, **params
        )
        assert answer["result"] == {"success": True}
        return heard


def opened(*tools: dict[str, Any], **params: object) -> Talk:
    """A conversation in which the extension has joined, with these tools or one tool `t`."""
    talk = Talk()
    heard, _ = talk.join(*(tools or (tool("t"),)), **params)
    assert isinstance(heard[-1], frames.Ready)
    return talk
