"""Decides whether a conversation is compacted before its next request, by how full the model's window would be. Pure.

A provider counts the tokens of a request only when it answers. So the counts of the last reply are used, and messages
added since are estimated; before the first reply all are. The file of a resumed session has such counts, too.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from agent.run import compaction
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from supervisor.registry.definition_size import BYTES_PER_TOKEN, definition_bytes, text_bytes, tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent.model.request import ToolSpec
    from agent.sessions.token_meter import RequestTokens
    from agent.transcript import Block

THRESHOLD = 85
"""Percent of the window, as in zot."""
FAR_BELOW = 2
"""Factor below the estimate at which stored token counts are distrusted."""
IMAGE_TOKENS = 1_600
"""Tokens of one image of any size: about the API's count for a megapixel."""


class Fill(msgspec.Struct, frozen=True):
    """How much of the window a conversation fills, as far as that is known."""

    tokens: int = 0
    """Tokens of the last request and its reply, as the provider counted them."""
    messages: int = 0
    """The number of messages, from the first one on, that `tokens` counts. 0 if none was counted yet."""
    compacted: int = 0
    """The number of messages right after a compaction. 0 if the model has answered since, or without a compaction."""

    def is_compact(self, messages: int) -> bool:
        """Whether no message was added since the compaction; the conversation has `messages` messages."""
        return 0 < self.compacted == messages


class CompactionStep(Enum):
    GO_ON = "go on"
    """The next request fits, or that is unknown."""
    COMPACT = "compact"
    NO_USE = "no use"
    """It does not fit well, and a summary would not help: the messages that are kept are too long by themselves."""


class CompactionPlan(msgspec.Struct, frozen=True):
    decision: CompactionStep
    tokens: int = 0
    """Estimated tokens of the next request; 0 if not estimated."""


def fill_after_reply(usage: Mapping[str, int], messages: int) -> Fill:
    """The fill after a reply with this use, the last of `messages` messages; empty if the server reported no tokens."""
    asked = usage.get("input", 0) + usage.get("cache_read", 0) + usage.get("cache_write", 0)
    return Fill(asked + usage.get("output", 0), messages) if asked else Fill()


def fill_of_session(measured: RequestTokens | None, transcript: Sequence[Message]) -> Fill:
    """The fill of a resumed conversation. Counts far below the estimate are not used: some programs compact a
    conversation without a note in the file, and the counts are then those of the short one."""
    if measured is None or measured.tokens * FAR_BELOW < estimate_tokens(transcript[: measured.messages]):
        return Fill()
    return Fill(measured.tokens, measured.messages)


def plan_compaction(
    transcript: Sequence[Message], fill: Fill, *, window: int | None, percent: int, overhead: int
) -> CompactionPlan:
    """Decides before the next request. `window`: the context window of its model in tokens, None if unknown. `percent`
    of it may be full; 0 turns compaction off. `overhead`: the tokens of the system prompt and the tools."""
    if window is None or not percent or fill.is_compact(len(transcript)):
        return CompactionPlan(CompactionStep.GO_ON)
    most = window * percent / 100
    tokens = expected_tokens(transcript, fill, overhead)
    if tokens < most:
        return CompactionPlan(CompactionStep.GO_ON, tokens)
    try:
        _, kept = compaction.split(transcript)
    except compaction.NothingToCompactError:
        return CompactionPlan(CompactionStep.NO_USE, tokens)
    left = _scale(transcript, fill, overhead) * (overhead + estimate_tokens(kept)) + compaction.summary_tokens(window)
    return CompactionPlan(CompactionStep.COMPACT if left < most else CompactionStep.NO_USE, tokens)


def expected_tokens(transcript: Sequence[Message], fill: Fill, overhead: int) -> int:
    """The tokens of a request with these messages."""
    if not fill.messages:
        return overhead + estimate_tokens(transcript)
    return fill.tokens + estimate_tokens(transcript[fill.messages :])


def _scale(transcript: Sequence[Message], fill: Fill, overhead: int) -> float:
    """The provider's count divided by the estimate; at least 1."""
    estimate = overhead + estimate_tokens(transcript[: fill.messages])
    return max(1.0, fill.tokens / max(1, estimate)) if fill.messages else 1.0


def overhead_of(system: str, tools: Sequence[ToolSpec]) -> int:
    """Estimated tokens of the system prompt and the tools."""
    described = sum(definition_bytes(tool.name, tool.description, tool.input_schema) for tool in tools)
    return (text_bytes(system) + described) // BYTES_PER_TOKEN


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Estimated tokens of the messages."""
    return sum(_tokens(block) for message in messages for block in message.content)


def _tokens(block: Block) -> int:
    match block:
        case Image():
            return IMAGE_TOKENS
        case ToolResult(_, content):
            return sum(_tokens(part) for part in content)
    return tokens_of(text_size(block))


def text_size(block: Block) -> int:
    """The bytes of the texts of a block; images have none."""
    match block:
        case Text(text):
            return text_bytes(text)
        case Image():
            return 0
        case Thinking(text, signature, redacted):
            return max(text_bytes(text), text_bytes(signature), text_bytes(redacted))
        case ToolCall(_, name, args):
            return text_bytes(name) + len(args)
        case ToolResult(_, content):
            return sum(map(text_size, content))
