"""Frames of each protocol that no session makes: cut, changed, unknown and wrong ones. Pure.

Sessions make all other frames. Frames are JSON objects here, and `pack` makes bytes of them.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from supervisor.harness.messages import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Collection

JsonFrame = dict[str, Any]
Key = tuple[str, str]
"""Identifies a question and its answers."""
NO_ID = "torture-nobody"
"""The id of a question that was never asked."""
NO_NUMBER = 987_654_321
"""The same, for protocols with numbers."""


class Forms(Protocol):
    """The frames of one protocol."""

    separator: bytes
    """The bytes that end a frame; empty if a header has its length."""
    junk: tuple[bytes, ...]
    """Lines that are no frames."""
    has_times: bool
    """Whether frames of the host have times."""
    has_sessions: bool
    """Whether one process may serve several sessions."""

    def pack(self, frame: Any, *, escaped: bool = False) -> bytes:
        """`escaped`: all but ASCII as `\\u` escapes."""

    def unpack(self, data: bytes) -> JsonFrame: ...
    def key_of_question(self, question: JsonFrame) -> Key: ...
    def key_of_answer(self, said: JsonFrame) -> Key | None:
        """None if the frame of the extension is no answer."""

    def with_args(self, question: JsonFrame, args: Any) -> JsonFrame:
        """A call of a tool with other arguments, of any JSON type."""

    def with_name(self, question: JsonFrame, name: str) -> JsonFrame | None:
        """The call of another tool, or of another command; None if that is another extension's."""

    def with_time(self, question: JsonFrame, text: str) -> JsonFrame: ...
    def cancel(self, question: JsonFrame, capabilities: Collection[str]) -> JsonFrame | None:
        """Cancels a question; None if the extension is not told of that."""

    def with_unknown_fields(self, question: JsonFrame) -> JsonFrame: ...
    def unknown(self) -> list[JsonFrame]:
        """Frames of types that no extension knows."""

    def unasked(self) -> list[JsonFrame]:
        """Answers to questions that the extension has not asked."""

    def wrong(self, question: JsonFrame) -> list[JsonFrame]:
        """Known frames whose fields have wrong types."""


UNKNOWN_FIELDS = {"zot_torture": {"nested": [1, None, "x"]}, "": "an empty name", "é": True}


class ZotForms:
    """One JSON object on each line."""

    separator = b"\n"
    junk: tuple[bytes, ...] = (
        b"this is not JSON\n",
        b"[1, 2, 3]\n",
        b"42\n",
        b"null\n",
        b'"text"\n',
        b"{}\n",
        b'{"type": 5}\n',
        b"{\n",
    )
    has_times = False
    has_sessions = True

    def pack(self, frame: Any, *, escaped: bool = False) -> bytes:
        return _text(frame, escaped) + b"\n"

    def unpack(self, data: bytes) -> JsonFrame:
        found: JsonFrame = json.loads(data)
        return found

    def key_of_question(self, question: JsonFrame) -> Key:
        return ANSWERS[question["type"]], str(question["id"])

    def key_of_answer(self, said: JsonFrame) -> Key | None:
        kind = str(said.get("type"))
        return (kind, str(said.get("id"))) if kind in ANSWERS.values() else None

    def with_args(self, question: JsonFrame, args: Any) -> JsonFrame:
        return {**question, "args": args}

    def with_name(self, question: JsonFrame, name: str) -> JsonFrame:
        return {**question, "name": name}

    def with_time(self, question: JsonFrame, text: str) -> JsonFrame:  # noqa: ARG002
        return question

    def cancel(self, question: JsonFrame, capabilities: Collection[str]) -> JsonFrame | None:
        if question["type"] in ("tool_call", "command_invoked") and "cancel" in capabilities:
            return {"type": "cancel", "id": question["id"], "reason": "torture"}
        if question["type"] == "tool_call" and "tool_cancel" in capabilities:
            return {"type": "tool_cancel", "id": question["id"]}
        return None

    def with_unknown_fields(self, question: JsonFrame) -> JsonFrame:
        return {**UNKNOWN_FIELDS, **question, "later": [{}]}

    def unknown(self) -> list[JsonFrame]:
        return [{"type": "zot_torture"}, {"type": "", "id": NO_ID}, {"type": "hello", "name": "host"}]

    def unasked(self) -> list[JsonFrame]:
        return [
            {"type": "tool_result", "id": NO_ID, "name": "x", "content": [], "is_error": False},
            {"type": "panel_close", "panel_id": NO_ID},
            {"type": "panel_key", "panel_id": NO_ID, "key": "enter"},
        ]

    def wrong(self, question: JsonFrame) -> list[JsonFrame]:
        kind = question["type"]
        return [
            {"type": kind, "id": NO_ID, "name": [], "args": 1},
            {"type": kind, "id": NO_ID, "name": None, "event": None},
            {"type": kind, "id": NO_ID},
            {"type": "event", "event": 7},
            {"type": "event"},
            {"type": "cancel", "id": {}},
            {"type": "panel_key", "panel_id": [], "key": 1},
        ]


class _JsonRpcForms:
    """Shared by both protocols of JSON-RPC. Subclasses pack and unpack."""

    about: ClassVar[JsonFrame] = {"jsonrpc": "2.0"}
    unknown_method = "zot/torture"

    def with_unknown_fields(self, question: JsonFrame) -> JsonFrame:
        """Among the parameters alone: JSON-RPC allows no other members beside them."""
        changed = copy.deepcopy(question)
        changed.setdefault("params", {}).update(UNKNOWN_FIELDS)
        return changed

    def unasked(self) -> list[JsonFrame]:
        return [
            {**self.about, "id": NO_NUMBER, "result": {}},
            {**self.about, "id": NO_NUMBER, "error": {"code": -32603, "message": "torture"}},
        ]


class McpForms(_JsonRpcForms):
    """The Model Context Protocol: a JSON-RPC message on each line."""

    separator = b"\n"
    junk: tuple[bytes, ...] = (b"this is not JSON\n", b"42\n", b"null\n", b"{}\n", b'{"jsonrpc": "2.0"}\n', b"{\n")
    has_times = False
    has_sessions = True

    def pack(self, frame: Any, *, escaped: bool = False) -> bytes:
        return _text(frame, escaped) + b"\n"

    def unpack(self, data: bytes) -> JsonFrame:
        found: JsonFrame = json.loads(data)
        return found

    def key_of_question(self, question: JsonFrame) -> Key:
        return "id", str(question["id"])

    def key_of_answer(self, said: JsonFrame) -> Key | None:
        return ("id", str(said.get("id"))) if "result" in said or "error" in said else None

    def with_args(self, question: JsonFrame, args: Any) -> JsonFrame:
        return {**question, "params": {**question["params"], "arguments": args}}

    def with_name(self, question: JsonFrame, name: str) -> JsonFrame:
        return {**question, "params": {**question["params"], "name": name}}

    def with_time(self, question: JsonFrame, text: str) -> JsonFrame:  # noqa: ARG002
        return question

    def cancel(self, question: JsonFrame, capabilities: Collection[str]) -> JsonFrame | None:  # noqa: ARG002
        params = {"requestId": question["id"], "reason": "torture"}
        return {**self.about, "method": "notifications/cancelled", "params": params}

    def unknown(self) -> list[JsonFrame]:
        return [
            {**self.about, "method": "notifications/zot_torture"},
            {**self.about, "method": self.unknown_method, "id": NO_NUMBER, "params": {}},
        ]

    def wrong(self, question: JsonFrame) -> list[JsonFrame]:
        method = question["method"]
        return [
            {**self.about, "id": NO_NUMBER + 1, "method": method, "params": 5},
            {**self.about, "id": NO_NUMBER + 2, "method": method},
            {**self.about, "id": NO_NUMBER + 3, "method": method, "params": {"name": [], "arguments": 1}},
            {**self.about, "method": "notifications/cancelled", "params": {"requestId": {}}},
        ]


class CopilotForms(_JsonRpcForms):
    """The Copilot CLI's: a JSON-RPC message behind each header with its length."""

    separator = b""
    junk: tuple[bytes, ...] = ()
    has_times = True
    has_sessions = False
    unknown_method = "zot.torture"

    def pack(self, frame: Any, *, escaped: bool = False) -> bytes:
        body = _text(frame, escaped)
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def unpack(self, data: bytes) -> JsonFrame:
        found: JsonFrame = json.loads(data.partition(b"\r\n\r\n")[2])
        return found

    def key_of_question(self, question: JsonFrame) -> Key:
        return ("id", str(question["id"])) if "id" in question else ("call", str(self._data(question)["requestId"]))

    def key_of_answer(self, said: JsonFrame) -> Key | None:
        if "method" not in said:
            return "id", str(said.get("id"))
        params = said.get("params")
        return ("call", str(params["requestId"])) if isinstance(params, dict) and "requestId" in params else None

    def with_args(self, question: JsonFrame, args: Any) -> JsonFrame:
        return self._with_data(question, arguments=args)

    def with_name(self, question: JsonFrame, name: str) -> JsonFrame | None:  # noqa: ARG002
        return None

    def with_time(self, question: JsonFrame, text: str) -> JsonFrame:
        changed = copy.deepcopy(question)
        if "event" in changed["params"]:
            changed["params"]["event"]["timestamp"] = text
        return changed

    def cancel(self, question: JsonFrame, capabilities: Collection[str]) -> JsonFrame | None:  # noqa: ARG002
        if "id" in question or "toolName" not in self._data(question):
            return None
        changed = copy.deepcopy(question)
        event = changed["params"]["event"]
        event["type"], event["data"] = "external_tool.completed", {"requestId": event["data"]["requestId"]}
        return changed

    def unknown(self) -> list[JsonFrame]:
        event: JsonFrame = {
            "id": "e",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "parentId": None,
            "type": "zot.torture",
            "data": {},
        }
        return [
            {**self.about, "method": self.unknown_method, "params": {}},
            {**self.about, "method": self.unknown_method, "id": NO_NUMBER, "params": {}},
            {**self.about, "method": "session.event", "params": {"sessionId": NO_ID, "event": event}},
        ]

    def wrong(self, question: JsonFrame) -> list[JsonFrame]:
        return [
            {**self.about, "method": "session.event", "params": {"sessionId": 5, "event": None}},
            {**self.about, "method": "session.event", "params": {}},
            {**self.about, "method": "hooks.invoke", "id": NO_NUMBER + 1, "params": {"hookType": 7}},
            self._with_data(question, requestId=NO_ID, toolName=[], commandName={}),
        ]

    @staticmethod
    def _data(question: JsonFrame) -> JsonFrame:
        data: JsonFrame = question["params"].get("event", {}).get("data", {})
        return data

    @staticmethod
    def _with_data(question: JsonFrame, **members: Any) -> JsonFrame:
        changed = copy.deepcopy(question)
        changed["params"].setdefault("event", {}).setdefault("data", {}).update(members)
        return changed


FORMS: dict[str, Forms] = {"zot": ZotForms(), "mcp": McpForms(), "copilot": CopilotForms()}
"""By the dialect's name in a manifest."""


def _text(frame: Any, escaped: bool) -> bytes:
    return json.dumps(frame, ensure_ascii=escaped, separators=(",", ":")).encode()
