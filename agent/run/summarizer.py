"""Asks the model for a summary of the older messages and puts it in their place: on request, or when needed."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from agent.model import catalogue
from agent.run import auto_compaction, compaction
from agent.run.auto_compaction import CompactionStep
from agent.run.turn.guarded_text import guard_text
from agent.run.turn.reply_builder import ReplyBuilder
from agent.transcript import text_of
from supervisor.registry.definition_size import BYTES_PER_TOKEN
from wire import events, frames
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent.abort import Abort
    from agent.model.request import ToolSpec
    from agent.options import Options
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.run.turn.model_call import ModelCalls
    from agent.run.turn.reply_builder import ModelReply
    from agent.transcript import Message
    from supervisor.supervisor import Supervisor


OUTCOMES: dict[Status, frames.ToolOutcome] = {
    Status.OK: "completed",
    Status.INTERRUPTED: "cancelled",
    Status.TIMEOUT: "timed_out",
}
"""How a compaction has ended, for observers; with any other status it has failed."""


class CompactionResult(msgspec.Struct, frozen=True):
    """How a compaction ended. Unless its status is `ok`, the conversation is as it was."""

    status: Status
    reason: str = ""
    text: str = ""
    may_pass: bool = False
    error_kind: str = ""
    """As in `ModelReply`."""


class Summarizer:
    """Carries out compactions. Readers get `retry`, `usage` and at the end `compact_done`, but not the reply as it
    arrives, and the summary as its guards leave it; no other guard is asked."""

    def __init__(
        self,
        model_calls: ModelCalls,
        event_writer: EventWriter,
        conversation: Conversation,
        abort: Abort,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`supervisor` has the guards and observers; None: there are none."""
        self.event_writer = event_writer
        self.conversation = conversation
        self.abort = abort
        self._model_calls = model_calls
        self._supervisor = supervisor

    def attempt(self, carry_out: Callable[[], CompactionResult]) -> CompactionResult:
        """Carries out one compaction between the events about it. `carry_out` may raise `NothingToCompactError`."""
        number = os.urandom(8).hex()
        self._tell(self._event("pre_compact", number))
        try:
            ended = carry_out()
        except compaction.NothingToCompactError as error:
            ended = CompactionResult(Status.ERROR, str(error))
        status = OUTCOMES.get(ended.status, "failed")
        self._tell(replace(self._event("post_compact", number), status=status, error=ended.reason or None))
        return ended

    def _tell(self, event: frames.Event) -> None:
        if self._supervisor is not None:
            self._supervisor.tell(event)

    def _event(self, name: str, number: str) -> frames.Event:
        messages = self.conversation.transcript
        size = sum(auto_compaction.text_size(block) for message in messages for block in message.content)
        return frames.Event(
            name, compaction_id=number, message_count=len(messages), token_estimate=size // BYTES_PER_TOKEN
        )

    def run(
        self,
        model: str,
        older: Sequence[Message],
        kept: Sequence[Message],
        instructions: str = "",
        *,
        trigger: Literal["request", "window", "too_long"] = "request",
        window: int | None = None,
    ) -> CompactionResult:
        """Puts a summary by this model in the place of `older`, and drops all messages after `kept`. `window`: maximum
        tokens of the request; None: the model's context window."""
        if (used_up := self.conversation.spending.used_up()) is not None:
            return CompactionResult(Status.BUDGET, used_up)
        if window is None:
            window = window_of(model)
        reply = self._ask(model, compaction.summary_request(model, older, window=window, instructions=instructions))
        if reply.stop == "aborted":
            assert self.abort.status is not None
            return CompactionResult(self.abort.status, self.abort.reason)
        text = text_of(reply.kept).strip()
        if reason := _fault(reply, text):
            status = Status.ERROR if reply.status is Status.OK else reply.status
            return CompactionResult(status, reason, may_pass=reply.may_pass, error_kind=reply.error_kind)
        before = len(self.conversation.transcript)
        added_tools = (name for message in self.conversation.transcript for name in message.added_tools)
        self.conversation.compact(compaction.compacted_conversation(text, kept, added_tools))
        after = len(self.conversation.transcript)
        if self._supervisor is not None:
            text = guard_text(text, self._supervisor, self.abort).text
        self.event_writer.emit(events.CompactDone(text, before, after, trigger))
        return CompactionResult(Status.OK, text=text)

    def _ask(self, model: str, params: dict[str, Any]) -> ModelReply:
        builder = ReplyBuilder(withhold=True)
        has_begun = False
        for line in self._model_calls.lines(params, builder):
            has_begun = has_begun or line["type"] != "error"
            builder.take(line)
        assert builder.reply is not None
        if has_begun:
            self._model_calls.count(model, builder.reply, auxiliary=True)
        return builder.reply


def window_of(model: str) -> int | None:
    """The context window of a model in tokens; None if unknown."""
    info = catalogue.find(model)
    return None if info is None else info.context_window


class WindowWatch(Enum):
    """Whether an `AutoCompactor` checks how full the window is."""

    ON = "on"
    TOLD = "told"
    """It checks, and has told a person that no summary would help."""
    OFF = "off"
    """A summary has failed: only a refusal of the provider leads to another one."""


class AutoCompactor:
    """Compacts the conversation of one prompt before a request that would fill the window, and after a request that
    was too long. `offered` returns the tools of the next request; `say` gets lines for a person."""

    def __init__(
        self, summarizer: Summarizer, *, offered: Callable[[], Sequence[ToolSpec]], say: Callable[[str], None]
    ) -> None:
        self._summarizer = summarizer
        self._event_writer = summarizer.event_writer
        self._conversation = summarizer.conversation
        self._abort = summarizer.abort
        self._offered = offered
        self._say = say
        self._watch = WindowWatch.ON

    def before_request(self, options: Options) -> None:
        """Compacts the conversation if the next request would fill the window too far. The run goes on if that fails,
        but not after an abort."""
        window = window_of(options.model)
        if not options.auto_compact or window is None or self._watch is WindowWatch.OFF:
            return
        transcript = self._conversation.transcript
        judged = auto_compaction.plan_compaction(
            transcript,
            self._conversation.fill,
            window=window,
            percent=options.compact_at,
            overhead=self._overhead(options),
        )
        share = f"about {judged.tokens * 100 // window} % of the context window of {options.model}"
        if judged.decision is CompactionStep.NO_USE and self._watch is WindowWatch.ON:
            self._watch = WindowWatch.TOLD
            self._say(
                f"the conversation fills {share}, and a summary of its older messages would not help: what stays is"
                " too long by itself. Begin a new one, or use a --model with a larger window"
            )
        if judged.decision is not CompactionStep.COMPACT:
            return
        older, kept = compaction.split(transcript)
        self._event_writer.emit(events.CompactStart("window", judged.tokens, window))
        ended = self._summarizer.attempt(lambda: self._summarizer.run(options.model, older, kept, trigger="window"))
        if ended.status is Status.OK:
            self._say(f"the conversation filled {share}; {_stands_for(older, kept)}")
        elif not self._abort.requested:
            self._watch = WindowWatch.OFF
            why = ended.reason.replace("\n", "; ")
            self._say(f"the conversation fills {share}, and is not compacted: {why}")

    def after_refusal(self, options: Options, asked: Sequence[Message]) -> CompactionResult:
        """Compacts the messages of a request that was too long, and drops all messages after them. If the status is not
        `ok`, the reason says why."""
        if not options.auto_compact:
            return CompactionResult(Status.ERROR, "that is off in this run; --auto-compact turns it on")
        if self._conversation.fill.is_compact(len(asked)):
            return CompactionResult(Status.ERROR, "it was compacted just before this request")
        return self._summarizer.attempt(lambda: self._compact(options, asked))

    def _compact(self, options: Options, asked: Sequence[Message]) -> CompactionResult:
        older, kept = compaction.split(asked)
        known = window_of(options.model)
        tokens = self._overhead(options) + auto_compaction.estimate_tokens(asked)
        self._event_writer.emit(events.CompactStart("too_long", tokens, known))
        # The server takes fewer tokens than the request had, even if the catalogue has a larger window.
        window = min(tokens, known or compaction.UNKNOWN_WINDOW)
        ended = self._summarizer.run(options.model, older, kept, trigger="too_long", window=window)
        if ended.status is Status.OK:
            self._say(f"the conversation was too long; {_stands_for(older, kept)}")
        return ended

    def _overhead(self, options: Options) -> int:
        return auto_compaction.overhead_of(options.system + options.system_end, self._offered())


def _stands_for(older: Sequence[Message], kept: Sequence[Message]) -> str:
    return f"a summary stands for the first {len(older)} of its {len(older) + len(kept)} messages now"


def _fault(reply: ModelReply, text: str) -> str:
    """Why the reply is no summary; "" if it is one."""
    if reply.is_too_long and not reply.is_complete:
        return "no summary: the request for it was too long"
    if reply.error:
        return f"no summary: {reply.error}" if reply.is_complete else reply.error
    if reply.tool_calls:
        return "no summary: the model called a tool instead"
    return "" if text else "no summary: the model's reply is empty"
