"""Asks the model for a summary of the older messages, and puts it in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.model import catalogue
from agent.run import compaction, cost
from agent.run.reply_builder import ReplyBuilder, retry_record
from agent.transcript import text_of
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent.abort import Abort
    from agent.model.provider import Provider
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.run.reply_builder import ModelReply
    from agent.transcript import Message


class Summary(msgspec.Struct, frozen=True):
    """How a compaction ended. Unless its status is `ok`, the conversation is as it was."""

    status: Status
    reason: str = ""
    text: str = ""
    usage: events.Totals = cost.NOTHING


class Summarizer:
    """Carries out one compaction. Readers get `retry`, `usage` and at the end `compact_done`, but not the reply as it
    arrives. Extensions have no part in it."""

    def __init__(
        self, provider: Provider, event_writer: EventWriter, conversation: Conversation, abort: Abort, model: str
    ) -> None:
        self._provider = provider
        self._event_writer = event_writer
        self._conversation = conversation
        self._abort = abort
        self._model = model

    def run(self, older: Sequence[Message], kept: Sequence[Message], instructions: str) -> Summary:
        """Puts a summary in the place of `older`, the messages before `kept`."""
        info = catalogue.find(self._model)
        window = None if info is None else info.context_window
        reply, used = self._ask(compaction.request(self._model, older, window=window, instructions=instructions))
        if reply.stop == "aborted":
            assert self._abort.status is not None
            return Summary(self._abort.status, self._abort.reason, usage=used)
        text = text_of(reply.kept).strip()
        if reason := _fault(reply, text):
            return Summary(Status.ERROR if reply.status is Status.OK else reply.status, reason, usage=used)
        before = len(older) + len(kept)
        self._conversation.compact(compaction.compacted(text, kept))
        self._event_writer.emit(events.CompactDone(text, before, len(self._conversation.transcript)))
        return Summary(Status.OK, text=text, usage=used)

    def _ask(self, params: dict[str, Any]) -> tuple[ModelReply, events.Totals]:
        """The reply, and its use of the model."""
        stream = self._provider.request(params)
        builder = ReplyBuilder(withhold=True)
        has_begun = False
        while builder.reply is None:
            if not self._event_writer.wait(stream.has_line) or self._abort.requested:
                self._provider.cancel()
                builder.abort(self._abort.reason)
                break
            line = stream.take()
            if line["type"] == "retry":
                self._event_writer.emit(retry_record(line))
                continue
            has_begun = has_begun or line["type"] != "error"
            builder.take(line)
        assert builder.reply is not None
        used = cost.totals(self._model, builder.reply.usage) if has_begun else cost.NOTHING
        if has_begun:
            self._event_writer.emit(cost.record(used, self._conversation.used(used)))
        return builder.reply, used


def _fault(reply: ModelReply, text: str) -> str:
    """Why the reply is no summary; "" if it is one."""
    if reply.error:
        return f"no summary: {reply.error}" if reply.is_complete else reply.error
    if reply.tool_calls:
        return "no summary: the model called a tool instead"
    return "" if text else "no summary: the model's reply is empty"
