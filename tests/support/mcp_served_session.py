"""A session of the MCP server, and what it says to its client."""

from __future__ import annotations

import json
from typing import Any

from wire import frames
from wire.control import CommandInfo, ToolInfo
from wire.mcp_server.offer import Action, Offer, Say
from wire.mcp_server.session import ServedSession

ECHO = ToolInfo("echo", "Returns its text.", {"properties": {}}, "echo", read_only=True)
WIPE = ToolInfo("wipe", "Wipes.", {"type": "object"}, "wiper", idempotent=True)
PLAN = CommandInfo("plan", "Plans.", "planner")
OFFER = Offer((ECHO, WIPE), (PLAN,))
VERSION = "io.modelcontextprotocol/protocolVersion"
MODERN = {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Client:
    """A session and what it has said to its client."""

    def __init__(self, offer: Offer | None = OFFER) -> None:
        self.is_described = True
        self.session = ServedSession("9.9", lambda: "what it is", lambda: self.is_described)
        self.actions: list[Action] = []
        if offer is not None:
            self.take(self.session.offered(offer))

    def take(self, actions: list[Action]) -> list[Any]:
        """Keeps the work that is ordered; returns the lines for the client, decoded."""
        self.actions += [action for action in actions if not isinstance(action, Say)]
        lines = [action.line for action in actions if isinstance(action, Say)]
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
        return [json.loads(line) for line in lines]

    def send(self, *messages: Any) -> list[Any]:
        return [
            said
            for message in messages
            for said in self.take(
                self.session.receive(message if isinstance(message, bytes) else json.dumps(message).encode())
            )
        ]

    def ask(self, method: str, params: Any = None, id_: Any = 1) -> Any:
        """The only answer to a request."""
        message = {"jsonrpc": "2.0", "id": id_, "method": method}
        (said,) = self.send(message if params is None else {**message, "params": params})
        assert said["id"] == id_
        return said.get("result", said.get("error"))

    def modern(self, method: str, params: Any = None, id_: Any = 1, **meta: Any) -> Any:
        return self.ask(method, {**(params or {}), "_meta": {**MODERN, **meta}}, id_)

    def begin(self, method: str, params: Any, id_: Any = 1) -> Any:
        """Sends a request that is not answered yet; returns its key."""
        assert self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) == []
        return self.actions[-1].key if self.actions else None


def text_result(text: str, **fields: Any) -> frames.ToolResult:
    return frames.ToolResult("x", [frames.ContentBlock("text", text=text)], **fields)
