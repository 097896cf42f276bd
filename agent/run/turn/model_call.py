"""Asks the model: sends a request, follows its reply to the end, and counts its use.

Turns and summaries ask through it, so the checks before each request have one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.run import cost
from agent.run.turn.reply_builder import retry_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from agent.abort import Abort
    from agent.model.provider import Line, Provider
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.run.turn.reply_builder import ModelReply, ReplyBuilder
    from wire.events import Totals


class ModelCalls:
    """The requests of one prompt, or of one compaction, one after another."""

    def __init__(self, provider: Provider, event_writer: EventWriter, conversation: Conversation, abort: Abort) -> None:
        self._provider = provider
        self._event_writer = event_writer
        self._conversation = conversation
        self._abort = abort
        self._began = 0.0
        """When the last request was sent."""
        self.usage = cost.NOTHING
        """The use of all requests so far, summaries included."""

    def lines(self, params: Mapping[str, Any], builder: ReplyBuilder) -> Iterator[Line]:
        """Sends a request and yields the lines of its reply, which the caller gives to `builder`. Retries are told to
        readers and not yielded. An abort cancels the request. At the end `builder` has the reply."""
        self._began = self._event_writer.clock()
        stream = self._provider.request(dict(params))
        while builder.reply is None:
            if not self._event_writer.wait(stream.has_line) or self._abort.requested:
                self._provider.cancel()
                builder.abort(self._abort.reason)
                return
            line = stream.take()
            if line["type"] == "retry":
                self._event_writer.emit(retry_record(line))
            else:
                yield line

    def count(self, model: str, reply: ModelReply, *, auxiliary: bool = False) -> Totals:
        """Adds the use of a request, tells readers, and returns it. Call it once for each reply that has begun.
        `auxiliary`: as in `wire.events.Usage`."""
        used = cost.totals(model, reply.usage, is_partial=not reply.is_complete)
        seconds = self._event_writer.clock() - self._began
        self.usage = cost.add(self.usage, used)
        sums = self._conversation.add_usage(used, model, seconds)
        self._event_writer.emit(cost.record(used, sums, auxiliary=auxiliary))
        return used
