"""The part of a request to the model that extensions have caused: the definitions of their tools, and the results of
these. Pure.

The provider counts the tokens of a whole request; each block has those of its share of the bytes. A block costs the
price of the place where it is: the beginning of the request, in the order tools, system prompt, messages, was read from
the provider's cache, the next part was written to it, and the rest is plain input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from agent.model import catalogue
from agent.run.auto_compaction import IMAGE_TOKENS
from supervisor.registry.definition_size import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent.model.catalogue import ModelInfo


class ModelShare(msgspec.Struct, frozen=True):
    """The tokens of one extension in a request."""

    tokens: float
    usd: float | None
    """US dollars; None if a price is unknown."""


def shares_of(
    params: Mapping[str, Any], usage: Mapping[str, int], info: ModelInfo | None, owner_of: Callable[[str], str]
) -> dict[str, ModelShare]:
    """The shares by extension. `usage` has the counts of `catalogue.cost_usd`, `owner_of` returns the extension of a
    tool, "" for one without. The shares of a request without counts are 0."""
    blocks = list(_blocks(params, owner_of))
    if not any(owner for owner, _ in blocks):
        return {}
    read = {**usage, "output": 0}
    parts = None if catalogue.cost_usd(info, read) is None or info is None else catalogue.prompt_parts(info, read)
    prompt = sum(usage.get(name, 0) for name in ("input", "cache_read", "cache_write"))
    per_byte = prompt / max(1, sum(size for _, size in blocks))
    tokens: dict[str, float] = {}
    dollars: dict[str, float] = {}
    begin = 0.0
    for owner, size in blocks:
        end = begin + size * per_byte
        if owner:
            tokens[owner] = tokens.get(owner, 0.0) + end - begin
            dollars[owner] = dollars.get(owner, 0.0) + _price(begin, end, parts or ())
        begin = end
    return {owner: ModelShare(count, None if parts is None else dollars[owner]) for owner, count in tokens.items()}


def _price(begin: float, end: float, parts: tuple[tuple[int, float], ...]) -> float:
    """US dollars of the tokens between two places. `parts` has the tokens of each part of the request in order, and the
    dollars of a token."""
    dollars = at = 0.0
    for count, price in parts:
        dollars += max(0.0, min(end, at + count) - max(begin, at)) * price
        at += count
    return dollars


def _blocks(params: Mapping[str, Any], owner_of: Callable[[str], str]) -> Iterator[tuple[str, int]]:
    """The extension that has caused each block, "" for none, and the bytes of the block."""
    for tool in params.get("tools", ()):
        yield owner_of(tool["name"]), len(orjson.dumps(tool))
    yield "", sum(len(orjson.dumps(block)) for block in params.get("system", ()))
    tools: dict[str, str] = {}
    for message in params["messages"]:
        for block in message["content"]:
            if block["type"] == "tool_use":
                tools[block["id"]] = block["name"]
            tool = tools.get(block["tool_use_id"], "") if block["type"] == "tool_result" else ""
            yield owner_of(tool) if tool else "", _size(block)


def _size(block: Mapping[str, Any]) -> int:
    """Bytes. An image has those of a text with as many tokens."""
    if block["type"] == "image":
        return IMAGE_TOKENS * BYTES_PER_TOKEN
    if block["type"] == "tool_result":
        return len(block["tool_use_id"]) + sum(map(_size, block.get("content", ())))
    return len(orjson.dumps(block))
