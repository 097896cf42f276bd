"""Results for an MCP client: facts about the server, lists, and answers of extensions to tools and prompts. Pure."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from wire.dialects.mcp.protocol import LEGACY, META_PREFIX
from wire.image_types import TYPES, image_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wire import frames
    from wire.control import CommandInfo, ToolInfo

ARGUMENTS = "arguments"
"""Name of the only argument of a prompt: the text behind the command."""
NO_STRUCTURE = "[the structured content that this tool promises is missing: its extension or a guard left it out]"
_HEAD = 16
"""Number of characters of base64 for the first `HEAD_BYTES` of an image."""


# --- the server ---------------------------------------------------------------------------------------------


def choose_version(asked: str) -> str:
    """Returns the version of a session: the client's if it is known, else our newest."""
    return asked if asked in LEGACY else LEGACY[-1]


def capabilities() -> dict[str, Any]:
    return {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "logging": {}}


def server_info(version: str) -> dict[str, str]:
    return {"name": "zot", "title": "zot extensions", "version": version}


def as_modern(result: dict[str, Any], version: str) -> dict[str, Any]:
    """Returns the result in the form of the modern era."""
    meta = {f"{META_PREFIX}serverInfo": server_info(version), **result.get("_meta", {})}
    return {"resultType": "complete", **result, "_meta": meta}


def mark_uncached(result: dict[str, Any]) -> dict[str, Any]:
    """Marks a list of the modern era: the client may keep it, but should ask again when it needs the list."""
    return {**result, "ttlMs": 0, "cacheScope": "private"}


# --- lists ----------------------------------------------------------------------------------------------------


def tool_definition(tool: ToolInfo) -> dict[str, Any]:
    """Returns an element of `tools`."""
    hints = {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent}
    annotations = {name: True for name, is_said in hints.items() if is_said}
    found: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"type": "object", **tool.schema},
    }
    if annotations:
        found["annotations"] = annotations
    if promises_structure(tool):
        found["outputSchema"] = tool.output_schema
    return found


def promises_structure(tool: ToolInfo) -> bool:
    """Whether clients get a schema of the tool's results: MCP has only schemas of objects."""
    return tool.output_schema is not None and tool.output_schema.get("type") == "object"


def prompt_definition(command: CommandInfo) -> dict[str, Any]:
    """Returns an element of `prompts`."""
    argument = {"name": ARGUMENTS, "description": f"The text after /{command.name}", "required": False}
    return {"name": command.name, "description": command.description, ARGUMENTS: [argument]}


# --- results of tools -----------------------------------------------------------------------------------------


def call_result(result: frames.ToolResult, *, is_promised: bool = False) -> dict[str, Any]:
    """Returns the result of `tools/call`. A block that a client could not show becomes a text that names it. With
    `is_promised` a result without structured content is an error: clients would fail at any other."""
    found: dict[str, Any] = {"content": [_block(block) for block in result.content or ()]}
    structured = result.structured_content
    if structured is not UNSET and bytes(structured).startswith(b"{"):
        found["structuredContent"] = structured
    elif is_promised and not result.is_error:
        found["content"].append(_text(NO_STRUCTURE))
        return {**found, "isError": True}
    return {**found, "isError": bool(result.is_error)}


def _block(block: frames.ContentBlock) -> dict[str, str]:
    if block.type == "text":
        return _text(block.text or "")
    if block.type != "image":
        return _text(f"[a block of the unknown type {block.type[:80]!r}]")
    kind, data = block.mime_type or "", block.data or ""
    if kind not in TYPES:
        return _text(f"[an image of type {kind[:80]!r}; only {', '.join(TYPES)} can be shown]")
    if _type_of(data) != kind:
        return _text(f"[an image of type {kind!r}, but its bytes are something else]")
    return {"type": "image", "data": data, "mimeType": kind}


def _type_of(data: str) -> str:
    """Returns the media type of the image with this base64 data; "" if it is not a known image."""
    try:
        return image_type(b64decode(data[:_HEAD], validate=True))
    except (binascii.Error, ValueError):
        return ""


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


# --- prompts --------------------------------------------------------------------------------------------------


def prompt_result(command: str, description: str, answer: frames.CommandResponse) -> dict[str, Any]:
    """Returns the result of `prompts/get`: the text that the command sends or shows, as a user's message."""
    text = _said(answer).strip("\n") or f"(the command /{command} has run, and shows nothing)"
    return {"description": description, "messages": [{"role": "user", "content": _text(text)}]}


def _said(answer: frames.CommandResponse) -> str:
    match answer.action:
        case "prompt":
            return answer.prompt or ""
        case "insert":
            return answer.insert or ""
        case "display":
            return answer.display or ""
        case "open_panel" if answer.open_panel is not None:
            panel = answer.open_panel
            return _lines([panel.title or "", *(panel.lines or ()), panel.footer or ""])
    return ""


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
