"""Contents as attributes of spans: JSON texts by the schemas of the conventions, cut to a maximum. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agent.telemetry import genai
from agent.transcript import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent.transcript import ToolResult
    from wire.traces.span import Value

    Attributes = dict[str, Value | None]
    Json = dict[str, Any]

ATTRIBUTE_LIMIT = 64 * 1024
"""Maximum of one content in bytes. Of a conversation the newest messages are sent."""
TEXT_LIMIT = 16 * 1024
"""Maximum of one text in it, in characters."""

_encode = msgspec.json.Encoder().encode


class _Cutter:
    """Cuts texts, and says whether anything was cut."""

    def __init__(self) -> None:
        self.has_cut = False

    def text(self, text: str) -> str:
        if len(text) <= TEXT_LIMIT:
            return text
        self.has_cut = True
        return f"{text[:TEXT_LIMIT]}… [{len(text) - TEXT_LIMIT} characters are left out]"

    def arguments(self, given: Any) -> Any:
        written = _encode(given)
        return given if len(written) <= TEXT_LIMIT else self.text(written.decode())

    def newest(self, messages: Sequence[Json]) -> str:
        """JSON of as many of the last messages as `ATTRIBUTE_LIMIT` allows, in their order."""
        written: list[bytes] = []
        left = ATTRIBUTE_LIMIT
        for message in reversed(messages):
            encoded = _encode(message)
            left -= len(encoded) + 1
            if left < 0:
                self.has_cut = True
                break
            written.append(encoded)
        return f"[{b','.join(reversed(written)).decode()}]"

    @property
    def mark(self) -> Attributes:
        return {genai.CONTENT_CUT: True} if self.has_cut else {}


def request(params: Mapping[str, Any]) -> Attributes:
    """The instructions and the messages of a request to the Messages API."""
    cutter = _Cutter()
    said: Attributes = {}
    if system := params.get("system"):
        parts = [{"type": "text", "content": cutter.text(block["text"])} for block in system]
        said[genai.SYSTEM_INSTRUCTIONS] = cutter.newest(parts)
    messages = [_message(message, cutter) for message in params["messages"]]
    return said | {genai.INPUT_MESSAGES: cutter.newest(messages)} | cutter.mark


def reply(content: Sequence[Mapping[str, Any]], finish: str) -> Attributes:
    """The reply with these blocks of the model worker."""
    cutter = _Cutter()
    parts = [_reply_part(block, cutter) for block in content]
    message = {"role": "assistant", "parts": parts, "finish_reason": finish}
    while parts and len(_encode(message)) >= ATTRIBUTE_LIMIT:
        cutter.has_cut = True
        del parts[-1]
    return {genai.OUTPUT_MESSAGES: cutter.newest([message])} | cutter.mark


def arguments(args: bytes) -> Attributes:
    """The arguments of a call; a text that is no JSON is sent as it is."""
    cutter = _Cutter()
    return {genai.TOOL_ARGUMENTS: cutter.text(args.decode("utf-8", "replace"))} | cutter.mark


def result(given: ToolResult) -> Attributes:
    """The result of a call: the tool's own JSON if it has given one, else an object with the text."""
    cutter = _Cutter()
    structured = given.structured
    if not structured or len(structured) > TEXT_LIMIT:
        text = "\n".join(part.text if isinstance(part, Text) else f"[{part.mime_type}]" for part in given.content)
        structured = _encode({"content": cutter.text(text)})
    return {genai.TOOL_RESULT: structured.decode()} | cutter.mark


def _message(message: Mapping[str, Any], cutter: _Cutter) -> Json:
    parts = [_part(block, cutter) for block in message["content"]]
    is_tools = all(part["type"] == "tool_call_response" for part in parts)
    parts_left = ATTRIBUTE_LIMIT // 2
    kept = []
    for part in parts:
        parts_left -= len(_encode(part))
        if parts_left < 0:
            cutter.has_cut = True
            break
        kept.append(part)
    return {"role": "tool" if is_tools else message["role"], "parts": kept}


def _part(block: Mapping[str, Any], cutter: _Cutter) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "content": cutter.text(block["text"])}
        case "tool_use":
            given = cutter.arguments(block["input"])
            return {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": given}
        case "tool_result":
            said = [_part(part, cutter) for part in block.get("content") or ()]
            texts = [part.get("content", f"[{part['type']}]") for part in said]
            return {"type": "tool_call_response", "id": block["tool_use_id"], "response": "\n".join(texts)}
        case "thinking":
            return {"type": "reasoning", "content": cutter.text(block["thinking"])}
        case other:  # an image, or thinking that the provider has encrypted
            return {"type": other}


def _reply_part(block: Mapping[str, Any], cutter: _Cutter) -> Json:
    if block["type"] == "text":
        return {"type": "text", "content": cutter.text(block["text"])}
    if block["type"] == "tool_call":
        given = msgspec.Raw(block["args"].encode()) if _is_json(block["args"]) else block["args"]
        return {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": cutter.arguments(given)}
    return {"type": "reasoning", "content": cutter.text(block.get("text", ""))}


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
