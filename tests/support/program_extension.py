"""An extension in the client program of a server of zot rpc: says its frames, and reads those for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.rpc_client import Json, RpcClient

ALLOW: dict[str, Any] = {}


class ProgramExtension:
    """One extension of a client. A hello has the capabilities of all that the protocol offers."""

    def __init__(self, client: RpcClient, name: str = "mine", **manifest: Any) -> None:
        self.client = client
        self.name = name
        given = {"manifest": manifest} if manifest else {}
        hello = {"type": "hello", "name": name, "capabilities": ["cancel", "ping"]}
        client.send("ext", extension=name, frame=hello, **given)

    def say(self, kind: str, **members: Any) -> None:
        self.client.send("ext", extension=self.name, frame={"type": kind, **members})

    def with_tool(self, name: str = "add", **more: Any) -> ProgramExtension:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        self.say("register_tool", name=name, description="Adds.", schema=schema, **more)
        return self

    def guarding(self, *events: str) -> ProgramExtension:
        self.say("subscribe", intercept=list(events))
        return self

    def ready(self) -> ProgramExtension:
        self.say("ready")
        return self

    def close(self) -> None:
        self.client.send("ext", extension=self.name, closed=True)

    def next(self, kind: str | None = None) -> Json:
        """Reads up to the next frame for this extension, or the next one of this type."""
        while True:
            frame = self.client.until("ext", extension=self.name).get("frame")
            if frame is not None and kind in (None, frame["type"]):
                return frame

    def until_closed(self) -> str:
        """Reads up to the line that says that the extension has ended. Returns the reason."""
        while True:
            line = self.client.until("ext", extension=self.name)
            if "closed" in line:
                return str(line["closed"])

    def result(self, call: Json, text: str, *, is_error: bool = False) -> None:
        self.say("tool_result", id=call["id"], content=[{"type": "text", "text": text}], is_error=is_error)

    def verdict(self, question: Json, **members: Any) -> None:
        self.say("event_intercept_response", id=question["id"], **members)
