"""Estimates the tokens of the definition of a tool: of its name, its description and its schema.

Only a provider can count tokens. This estimates them from the size, in the same way for all: compaction of requests to
the model uses it, and users see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from wire.text import noun_for

if TYPE_CHECKING:
    from collections.abc import Mapping

BYTES_PER_TOKEN = 4
LARGE = 25_000
"""Number of tokens above which the definitions of one extension get a warning: every request to the model has them."""


def definition_bytes(name: str, description: str, schema: Mapping[str, Any]) -> int:
    """The size of a tool's definition as it is sent."""
    return text_bytes(name) + text_bytes(description) + len(msgspec.json.encode(schema))


def tokens_of(size: int) -> int:
    """The estimated tokens of `size` bytes, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def text_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def size_warning(tools: int, tokens: int) -> str:
    """The line for the user of an extension whose definitions are too large; "" if they are not."""
    if tokens <= LARGE:
        return ""
    return (
        f"the definitions of its {tools:,} {noun_for(tools, 'tool')} take about {tokens:,} tokens of every request to"
        " the model; let it offer fewer tools, or disable it where they are not needed"
    )
