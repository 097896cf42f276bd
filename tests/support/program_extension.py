"""An extension in the client program of a server of zot rpc: says its frames, and reads those for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.support.rpc_client import Served, serve
from tests.support.scripted_model import ScriptedModel, says

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.rpc_client import Json, RpcClient

CALL = says("", ("t1", "add", {"a": 1}))
ECHO = says("", ("t1", "bash", {"command": "echo up"}))


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


def run(
    folder: Path, script: Callable[[RpcClient], object], *replies: list[Json], **given: Any
) -> tuple[Served, ScriptedModel]:
    """Serves the client of this script with a model of these replies. Returns what the server left, and the model."""
    model = ScriptedModel(*replies)
    served = serve(folder, model, script, drain_s=30.0, **given)
    assert served.status == 0, served.stderr
    return served, model


def result_of(model: ScriptedModel) -> str:
    """The text of the last tool result that the model was told."""
    return "".join(part.get("text", "") for part in last_result(model)["content"])


def last_result(model: ScriptedModel) -> Json:
    block: Json = json.loads(json.dumps(model.asked[-1]["messages"][-1]["content"]))[-1]
    assert block["type"] == "tool_result"
    return block


def prompt(client: RpcClient, text: str = "go") -> None:
    client.send("prompt", message=text)
