"""Escapes text for a page: names and details come from extensions and may be anything."""

from __future__ import annotations

import html
import json
import re
from typing import Any

NAME_CHARACTERS = 64
"""The longest name that a manifest may have. A recording may hold longer names."""
TEXT_CHARACTERS = 400
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of the text after them: a name must not rearrange the page."""


def text(value: object, most: int = TEXT_CHARACTERS) -> str:
    """Text as the content of an element or of a quoted attribute, cut to `most` characters."""
    shown = str(value)
    if len(shown) > most:
        shown = shown[: most - 1] + "…"
    shown = _TURNING.sub("", _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", shown))
    return html.escape(shown, quote=True)


def name(value: str) -> str:
    """An extension's name, cut; never empty, so that a link has a text."""
    return text(value, NAME_CHARACTERS) if value.strip() else "(no name)"


def script_data(value: Any) -> str:
    """JSON for a `<script>` element: it cannot end the element or open a comment."""
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028")):
        shown = shown.replace(char, escaped)
    shown = _TURNING.sub("", shown.replace("\u2029", "\\u2029"))
    return _UNSHOWABLE.sub("\\\\ufffd", shown)
