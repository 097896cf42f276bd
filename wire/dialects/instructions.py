"""What an extension of another protocol wants the model to know, as far as it comes into the system prompt. Pure."""

from __future__ import annotations

from wire.text import printable

LIMIT = 2048
"""Bytes that are kept."""
SEARCHED = 4 * LIMIT
"""Characters that are looked at for what controls a terminal."""


def kept_instructions(text: str) -> str:
    """The text as it is shown to the model: without what controls a terminal, and cut at `LIMIT` with a mark; "" if
    nothing is left."""
    text = printable(text.strip()[:SEARCHED]).strip()
    written = text.encode("utf-8", "replace")
    if len(written) <= LIMIT:
        return text
    return written[: LIMIT - 4].decode("utf-8", "ignore") + " …"
