"""The questions of `Verdicts` as an extension reads them, and its answers."""

from __future__ import annotations

import itertools
import json
from typing import Any

from msgspec import Raw

from wire import frames
from wire.dialects import jsonrpc
from wire.dialects.base import HostInfo, Received
from wire.dialects.copilot.join import CopilotTool, Join
from wire.dialects.copilot.requests import SentRequest, SentRequests
from wire.dialects.copilot.verdicts import Verdicts

SESSION = "session-1"
HOST = HostInfo("1", "p", "m", "/repo")
MS = 1_700_000_000_000


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def tool_call(tool: str = "bash", tool_id: str = "t1", **args: Any) -> frames.Event:
    return frames.Event("tool_call", tool_id=tool_id, tool_name=tool, tool_args=Raw(dumped(args)))


def tool_result(*texts: str, is_error: bool = False, tool: str = "bash", tool_id: str = "t1") -> frames.Event:
    content = [frames.ContentBlock("text", text=text) for text in texts]
    return frames.Event("tool_result", tool_id=tool_id, tool_name=tool, is_error=is_error, content=content)


def read(sent: bytes) -> dict[str, Any]:
    """The one message in what was sent."""
    head, _, body = sent.partition(b"\r\n\r\n")
    assert int(head.removeprefix(b"Content-Length: ")) == len(body)
    message: dict[str, Any] = json.loads(body)
    return message


class Talk:
    """An extension with these hooks, None for all, and a permission handler or none."""

    def __init__(
        self, hooks: set[str] | None = None, *, asks_permission: bool = False, tools: tuple[CopilotTool, ...] = ()
    ):
        named = None if hooks is None else frozenset(hooks)
        joined = Join(SESSION, {tool.name: tool for tool in tools}, hooks=named, asks_permission=asks_permission)
        self.requests = SentRequests(lambda: MS)
        self.requests.session_id = dumped(SESSION)
        self.verdicts = Verdicts(joined, self.requests, HOST, lambda: MS)
        self._ids = itertools.count(1)

    def ask(self, event: frames.Event) -> dict[str, Any]:
        """Asks about an event with the ids c1, c2 and so on."""
        return read(self.verdicts.begin(f"c{next(self._ids)}", event))

    def answer(self, question: dict[str, Any], answer: dict[str, Any] | bytes) -> Received:
        """The members of the answer to a request, or the JSON text of its result."""
        request = self.requests.take(question["id"])
        assert isinstance(request, SentRequest)
        if isinstance(answer, bytes):
            return self.verdicts.hook_answered(request, jsonrpc.Incoming(result=Raw(answer)))
        return self.verdicts.hook_answered(request, jsonrpc.decode(dumped(answer)))

    def judge(self, event: frames.Event, output: Any) -> Received:
        """The result of an event whose hook returns `output`."""
        return self.answer(self.ask(event), {"result": {"output": output}})

    def permit(self, question: dict[str, Any], result: Any) -> Received:
        """The effect of `result` as the permission handler's answer to `permission.requested`."""
        params = {"requestId": question["params"]["event"]["data"]["requestId"], "result": result}
        return self.verdicts.permission_answered(Raw(dumped(params)))
