"""A session of the dialect mcp with a server that the test plays, without a process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from wire import frames
from wire.dialects.base import HostInfo, RunSession, Setup
from wire.dialects.mcp.dialect import DIALECT
from wire.dialects.mcp.lists.server_lists import PAUSE_S
from wire.framing import Oversize

if TYPE_CHECKING:
    from wire.trace_context import TraceContext

HOST = HostInfo("1.2", "anthropic", "m", "/project")
CAPABILITIES: dict[str, Any] = {"tools": {"listChanged": True}, "prompts": {}, "logging": {}}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
MODERN = "2026-07-28"


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


def tool(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "description": f"tool {name}", "inputSchema": SCHEMA, **more}


def initialized(version: object = "2025-11-25", **more: object) -> dict[str, Any]:
    """The result of `initialize`."""
    info = {"name": "server", "version": "3.4"}
    return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": info, **more}


def discovered(**more: object) -> dict[str, Any]:
    """The result of `server/discover`."""
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "server", "version": "3.4"}}
    return {
        "supportedVersions": [MODERN],
        "capabilities": CAPABILITIES,
        "resultType": "complete",
        "_meta": meta,
        **more,
    }


class Talk:
    """The messages of the host and the server. Methods that hear or send return the new ones."""

    def __init__(self, *, kept: dict[str, Any] | None = None, frame_limit: int = 16 << 20, **options: object) -> None:
        self.kept: dict[str, Any] = {} if kept is None else kept
        self.session = DIALECT.session(Setup("desk", "1.2", frame_limit, options, self.kept))
        self.splitter = self.session.splitter()
        self.now = 0.0
        self.sent: list[dict[str, Any]] = []
        self.messages: list[Any] = []
        self.keep(self.session.opening)

    def keep(self, data: bytes) -> list[dict[str, Any]]:
        """Keeps what the host sends, which is whole lines, each one object."""
        assert data == b"" or data.endswith(b"\n")
        lines = [json.loads(line) for line in data.splitlines()]
        assert all(line["jsonrpc"] == "2.0" for line in lines)
        self.sent += lines
        return lines

    def hear(self, *said: bytes | dict[str, Any] | list[Any]) -> list[Any]:
        """The frames that the host reads from these messages or raw bytes; it answers a hello at once."""
        heard: list[Any] = []
        for each in said:
            data = each if isinstance(each, bytes) else dumped(each) + b"\n"
            for line in self.splitter.feed(data):
                receive = self.session.receive_oversize if isinstance(line, Oversize) else self.session.receive
                messages, reply = receive(line, self.now)
                heard += messages
                if any(isinstance(message, frames.Hello) for message in messages):
                    self.keep(self.session.greet(HOST, "/ext", "/data", self.now))
                self.keep(reply)
        self.messages += heard
        return heard

    def asked(self, method: str) -> dict[str, Any]:
        """The last request or notification of this method."""
        return next(each for each in reversed(self.sent) if each.get("method") == method)

    def id_of(self, method: str) -> int:
        number = self.asked(method)["id"]
        assert type(number) is int
        return number

    def answer(self, method: str, result: object) -> list[Any]:
        """The server answers the last request of this method. Returns all portions of a list."""
        heard = self.hear({"result": result, "jsonrpc": "2.0", "id": self.id_of(method)})
        while self.session.due_at == self.now + PAUSE_S:
            heard += self.wait_until_due()
        return heard

    def refuse(self, method: str, code: int, message: str = "no", **more: object) -> list[Any]:
        error = {"code": code, "message": message, **more}
        return self.hear({"jsonrpc": "2.0", "id": self.id_of(method), "error": error})

    def wait_until_due(self) -> list[Any]:
        """Lets the time pass until the session wants to be called, and calls it."""
        assert self.session.due_at is not None
        self.now = self.session.due_at
        messages, sent = self.session.on_time(self.now)
        self.keep(sent)
        self.messages += messages
        return list(messages)

    def call(
        self, call_id: str, name: str = "mcp__desk__t", args: bytes = b"{}", run: RunSession | None = None,
        context: TraceContext | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        (sent,) = self.keep(self.session.call(call_id, name, args, "", run, context))
        return sent


def opened(*tools: dict[str, Any], modern: bool = False, **options: object) -> Talk:
    """A conversation in which the server is ready, with these tools or one tool `t`."""
    talk = Talk(kept={"mcp_era": MODERN} if modern else {}, **options)
    if modern:
        talk.answer("server/discover", discovered())
    else:
        talk.answer("initialize", initialized())
    talk.answer("prompts/list", {"prompts": [{"name": "p", "arguments": [{"name": "who", "required": True}]}]})
    assert isinstance(talk.answer("tools/list", {"tools": list(tools) or [tool("t")]})[-1], frames.Ready)
    return talk


def text_result(text: str = "done") -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}
