"""Builds one reply of the model from its lines: first the records for readers, at the end the whole reply. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agent.model.request import blocks_from_worker
from agent.transcript import Text, ToolCall
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from agent.transcript import Block

WINDOW_FULL = "model_context_window_exceeded"
"""The stop reason of a reply that did not fit into the rest of the window."""
STOPS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "length",
    WINDOW_FULL: "length",
}
STATUS_OF_ERROR = {
    "authentication": Status.AUTHENTICATION,
    "rate_limit": Status.RATE_LIMIT,
    "overloaded": Status.RATE_LIMIT,
}
"""The status of a run by the kind of its error; `Status.ERROR` for all other kinds."""

PASSING_KINDS = frozenset({"rate_limit", "overloaded", "server", "connection", "dropped", "timeout", "worker"})
"""The kinds of errors after which the same request may succeed."""
PASSING_STATUSES = (408, 409)
"""HTTP statuses below 500 after which it may succeed, too."""
RATE_LIMITED = 429

Line = dict[str, Any]


def may_pass(error: Line) -> bool:
    """Whether the request of an `error` line may succeed when made once more. The server's word on that counts first.
    A 429 is final: the sender of the request has already waited for a limit that passes."""
    told = (error.get("limits") or {}).get("should_retry")
    status = error.get("status")
    if told is not None:
        return bool(told)
    return status in PASSING_STATUSES or (error["kind"] in PASSING_KINDS and status != RATE_LIMITED)


class ModelReply(msgspec.Struct, frozen=True):
    """A complete reply, or the part of a reply that arrived before an error or an abort."""

    content: tuple[Block, ...]
    stop: str
    """end_turn, tool_use, length, error or aborted."""
    usage: dict[str, int]
    error: str = ""
    status: Status = Status.OK
    """The status of the run if it ends with this reply."""
    error_kind: str = ""
    """The kind of the failed request, a word of `agent.model.failure.ErrorKind` or `worker` or `cassette`."""
    is_complete: bool = False
    """Whether the model itself has ended it, for any reason: its text is then an answer, though maybe cut off."""
    is_too_long: bool = False
    """Whether the request, or the request with this reply, was too long for the model or its server."""
    may_pass: bool = False
    """Whether the same prompt may end better if sent again. False if the model has ended the reply: it is paid for."""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls to carry out. A reply that the model did not finish has none."""
        if self.stop != "tool_use":
            return ()
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    @property
    def kept(self) -> tuple[Block, ...]:
        """The blocks for the transcript. A call without a result is left out: the API would refuse the next request. A
        reply that broke off keeps its text only."""
        if self.stop in ("end_turn", "tool_use"):
            return self.content if self.stop == "tool_use" else _without_calls(self.content)
        return tuple(block for block in self.content if isinstance(block, Text) and block.text)


def _without_calls(content: tuple[Block, ...]) -> tuple[Block, ...]:
    return tuple(block for block in content if not isinstance(block, ToolCall))


CHARACTERS_PER_TOKEN = 4
"""A rough average for text."""


class ReplyBuilder(msgspec.Struct):
    """Takes the lines of a reply. With `withhold`, readers get no record before the guards have seen the whole text."""

    withhold: bool
    reply: ModelReply | None = None
    _text: list[str] = msgspec.field(default_factory=list)
    _held: list[events.Record] = msgspec.field(default_factory=list)
    _usage: dict[str, int] = msgspec.field(default_factory=dict)
    _received: int = 0
    """Characters of all deltas."""

    def take(self, line: Line) -> list[events.Record]:
        """Takes the next line; returns the records that readers get now."""
        record = _record(line)
        self._received += len(line.get("delta", ""))
        if line["type"] == "text_delta":
            self._text.append(line["delta"])
        elif line["type"] == "message_start":
            self._usage = line.get("usage") or {}
        elif line["type"] == "final":
            self.reply = _final_reply(line)
        elif line["type"] == "error":
            self.reply = self._failed_reply(line)
        if record is None:
            return []
        if self.withhold:
            if not isinstance(record, events.TextDelta):
                self._held.append(record)
            return []
        return [record]

    def release(self, text: str) -> list[events.Record]:
        """The withheld records. Before them comes one delta with `text`, the text that readers may see."""
        held, self._held = self._held, []
        if self.withhold and text:
            return [events.TextDelta(text), *held]
        return held

    def abort(self, reason: str) -> ModelReply:
        """Ends the reply with the part that has arrived."""
        self.reply = ModelReply(self._partial(), "aborted", self._estimate_usage(self._usage), reason)
        return self.reply

    def _failed_reply(self, line: Line) -> ModelReply:
        partial = blocks_from_worker(line["content"]) if line.get("content") else self._partial()
        status = STATUS_OF_ERROR.get(line["kind"], Status.ERROR)
        reason = "\n".join(filter(None, (line["message"], line.get("advice"))))
        usage = self._estimate_usage(line.get("usage") or self._usage)
        is_too_long = line["kind"] == "too_long"
        return ModelReply(
            partial, "error", usage, reason, status, line["kind"], is_too_long=is_too_long, may_pass=may_pass(line)
        )

    def _estimate_usage(self, told: dict[str, int]) -> dict[str, int]:
        """Tokens of a reply that broke off. Servers count its output only at its end, so the output is at least an
        estimate from the received characters."""
        return {**told, "output": max(told.get("output", 0), self._received // CHARACTERS_PER_TOKEN)}

    def _partial(self) -> tuple[Block, ...]:
        text = "".join(self._text)
        return (Text(text),) if text else ()


def retry_record(line: Line) -> events.Retry:
    """The record for a `retry` line, which comes before the lines of the reply."""
    return events.Retry(line["attempt"], line["of"], line["wait_s"], line["reason"], line["status"])


def _final_reply(line: Line) -> ModelReply:
    content = blocks_from_worker(line["content"])
    reason = line["stop_reason"]
    stop = STOPS.get(reason)
    if stop == "tool_use" and not any(isinstance(block, ToolCall) for block in content):
        stop = "end_turn"
    error = ""
    if stop is None:
        error = f"the model stopped for an unusual reason: {reason}"
    elif stop == "length":
        error = f"the reply was cut off: {reason}"
    status = Status.ERROR if error else Status.OK
    is_too_long = reason == WINDOW_FULL
    return ModelReply(content, stop or "error", line["usage"], error, status, is_complete=True, is_too_long=is_too_long)


def _record(line: Line) -> events.Record | None:
    match line["type"]:
        case "text_delta":
            return events.TextDelta(line["delta"])
        case "tool_use_start":
            return events.ToolUseStart(line["call_id"], line["name"])
        case "tool_use_args":
            return events.ToolUseArgs(line["call_id"], line["delta"])
        case "tool_use_end":
            return events.ToolUseEnd(line["call_id"])
    return None
