"""Switches a server on or off in the text of an MCP file, and leaves all else in it as it is. Pure."""

from __future__ import annotations

import re

from wire.lenient_json import MARK, places_by_steps
from wire.settings.jsonc import plain_json
from wire.settings.mcp_file import TOP

_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"\s*:\s*')
_WORD = re.compile(rb"[a-z]+")


def switched(text: bytes, key: str, *, on: bool) -> bytes | None:
    """The text with this server enabled or disabled; None if the file has no such server that is an object. The text
    must be one that `parse_mcp` reads."""
    mark = MARK if text.startswith(MARK) else b""
    bare = text.removeprefix(MARK)
    plain = plain_json(text)
    places = places_by_steps(plain)
    for top in TOP:
        if (at := places.get((top, key))) is not None:
            break
    else:
        return None
    edits: list[tuple[int, int, bytes]] = []
    for field, flag in (("disabled", not on), ("enabled", on)):
        if (start := places.get((top, key, field))) is not None:
            begin = _behind(plain, start)
            word = _WORD.match(plain, begin)
            edits.append((begin, begin if word is None else word.end(), b"true" if flag else b"false"))
    opening = _behind(plain, at)
    if plain[opening : opening + 1] != b"{":
        return None
    if not edits and not on:
        lead = plain[opening + 1 :][: len(plain[opening + 1 :]) - len(plain[opening + 1 :].lstrip())]
        indent = b"\n" + lead.rpartition(b"\n")[2] if b"\n" in lead else b""
        is_empty = plain[opening + 1 + len(lead) :].startswith(b"}")
        comma = b"" if is_empty else b"," if indent else b", "
        edits.append((opening + 1, opening + 1, indent + b'"disabled": true' + comma))
    for begin, end, value in sorted(edits, reverse=True):
        bare = bare[:begin] + value + bare[end:]
    return mark + bare


def _behind(text: bytes, name: int) -> int:
    """Where the value begins whose name begins at `name`."""
    found = _VALUE.match(text, name)
    assert found is not None
    return found.end()
