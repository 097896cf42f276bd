"""Switches a server on or off in the text of an MCP file, and leaves all else in it as it is. Pure."""

from __future__ import annotations

from wire.settings.json_edit import JsonText
from wire.settings.mcp_file import TOP


def switched(text: bytes, key: str, *, on: bool) -> bytes | None:
    """The text with this server enabled or disabled; None if the file has no such server that is an object. The text
    must be one that `parse_mcp` reads."""
    edited = JsonText(text)
    sections = (edited.last(edited.outermost, top) for top in TOP)
    server = next((found for held in sections if held and (found := edited.last(held.value, key))), None)
    if server is None or not edited.is_object(server):
        return None
    values = {"disabled": not on, "enabled": on}
    there = [field for field in values if edited.last(server.value, field)]
    for field in there or ([] if on else ["disabled"]):
        edited.put(server, field, values[field])
    return edited.whole
