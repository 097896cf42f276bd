"""Escapes text for a page: names and details come from extensions and may be anything."""

from __future__ import annotations

import json
from typing import Any

from agent.sessions.export.html_parts import escape_html
from agent.sessions.export.labels import visible

NAME_CHARACTERS = 64
"""The longest name that a manifest may have. A recording may hold longer names."""
TEXT_CHARACTERS = 400


def text(value: object, most: int = TEXT_CHARACTERS) -> str:
    """Text as the content of an element or of a quoted attribute, cut to `most` characters."""
    shown = str(value)
    if len(shown) > most:
        shown = shown[: most - 1] + "…"
    return escape_html(shown)


def script_data(value: Any) -> str:
    """JSON for a `<script>` element: it cannot end the element or open a comment."""
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return visible(shown).replace("<", "\\u003c")
