"""One turn from its first record to its last: a request to the model, its reply, and the tool calls in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agent.model import catalogue
from agent.model.request import build_params
from agent.output import event_content
from agent.run.turn.extension_share import shares_of
from agent.run.turn.guarded_text import GuardedText, guard_text
from agent.run.turn.reply_builder import ModelReply, ReplyBuilder
from agent.run.turn.tool_calls import ToolCalls
from agent.transcript import Block, Message, Text, now, text_of
from wire import events, frames
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent.abort import Abort
    from agent.options import Options
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.run.turn.model_call import ModelCalls
    from agent.tools.toolbox import Toolbox
    from supervisor.supervisor import Supervisor
    from wire.frames import ErrorContext


class PromptEnd(msgspec.Struct, frozen=True):
    """Why the turns of a prompt ended."""

    status: Status
    reason: str = ""
    has_answer: bool = False
    """Whether the last text of the model is its answer: the model itself has ended it, for any reason."""
    is_too_long: bool = False
    """Whether the request was too long: it must be shortened before a retry."""
    may_pass: bool = False
    """Whether the same prompt may end better if sent again, as in `ModelReply`."""
    error_context: ErrorContext = "system"
    """The origin of the error, if any. The guards of errors have already been asked about a `model_call`."""
    error_kind: str = ""
    """The kind of the failed request, as in `ModelReply`."""
    can_retry: bool = False
    """Whether the failed request can be made once more."""


class Turns:
    """Takes the turns of one prompt. It never raises for a failure of an extension, a tool or the model."""

    def __init__(
        self,
        supervisor: Supervisor,
        toolbox: Toolbox,
        model_calls: ModelCalls,
        event_writer: EventWriter,
        conversation: Conversation,
        abort: Abort,
    ) -> None:
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._model_calls = model_calls
        self._event_writer = event_writer
        self._conversation = conversation
        self._abort = abort
        self._tool_calls = ToolCalls(supervisor, toolbox, event_writer, abort)
        self.said = GuardedText()
        """The text of the last reply."""
        self.text = ""
        """The last text of the prompt that readers may see."""
        self._text_before = ""
        """`text` as it was before the last reply."""
        self._messages_asked = 0

    @property
    def asked(self) -> Sequence[Message]:
        """The messages of the last request."""
        return self._conversation.transcript[: self._messages_asked]

    def take(self, step: int, options: Options) -> PromptEnd | None:
        """Takes one turn. Returns None if the model waits for the results of its calls: another turn follows."""
        self._event_writer.emit(events.TurnStart(step))
        self._supervisor.tell(frames.Event("turn_start", step=step))
        judgement = self._supervisor.intercept(frames.Event("turn_start", step=step))
        if self._abort.requested:
            return self.aborted()
        if judgement.is_blocked:
            self._end("error", judgement.reason)
            return PromptEnd(Status.BLOCKED, judgement.reason)
        reply = self._ask_model(options)
        for call in reply.tool_calls:
            self._tool_calls.announce(call)
        blocked = self.said.blocked
        was_withheld = blocked is not None and not reply.tool_calls and self._abort.requested
        if reply.stop == "aborted" or was_withheld:  # the latter: an abort while guards judged the text
            return self.aborted()
        self._end(reply.stop, reply.error if reply.stop != "length" else "")
        if reply.tool_calls:
            results = self._tool_calls.run(reply.tool_calls)
            self._conversation.append(Message("tool", results, now(), self._toolbox.take_activated()))
            if self._tool_calls.ended and not self._abort.requested:
                return PromptEnd(Status.BLOCKED, self._tool_calls.ended)
            return self.aborted() if self._abort.requested else None
        if reply.status is not Status.OK:
            has_answer = reply.is_complete and blocked is None and bool(text_of(reply.kept))
            is_too_long = reply.is_too_long and blocked is None
            can_retry = not reply.is_complete and (reply.may_pass or reply.status is Status.RATE_LIMIT)
            return PromptEnd(
                reply.status, reply.error, has_answer, is_too_long, reply.may_pass, "model_call", reply.error_kind,
                can_retry,
            )  # fmt: skip
        if blocked is not None:
            return PromptEnd(Status.BLOCKED, blocked)
        return PromptEnd(Status.OK, has_answer=True)

    def _tell_usage(self, model: str, used: events.Totals) -> None:
        tokens = frames.Tokens(used.input, used.output, used.cache_read, used.cache_write, used.reasoning)
        self._supervisor.tell(frames.Event("usage", model=model, tokens=tokens))

    def forget_reply(self) -> None:
        """Takes back the text of the last reply, which has left the conversation."""
        self.text = self._text_before

    def take_back_reply(self) -> None:
        """Takes back the last reply, which broke off, from the text and the conversation."""
        self._conversation.take_back(self._messages_asked)
        self.forget_reply()

    def aborted(self) -> PromptEnd:
        """Ends the turn, or the prompt between two turns, because of an abort."""
        assert self._abort.status is not None
        self._end("aborted", self._abort.reason)
        return PromptEnd(self._abort.status, self._abort.reason)

    def _end(self, stop: str, error: str = "") -> None:
        end = events.TurnEnd(stop, error) if error else events.TurnEnd(stop)  # type: ignore[arg-type]
        self._event_writer.emit(end)
        told = "end" if stop == "end_turn" else stop  # zot's word; its documents have that of the event stream
        self._supervisor.tell(frames.Event("turn_end", stop=told, error=error or None))

    # --- the reply ----------------------------------------------------------------------------------------

    def _ask_model(self, options: Options) -> ModelReply:
        self._messages_asked, self._text_before = len(self._conversation.transcript), self.text
        params = build_params(
            model=options.model,
            system="\n".join(filter(None, (options.system, self._toolbox.instructions()))),
            system_end=options.system_end,
            messages=self._conversation.transcript,
            tools=self._toolbox.offered(),
            max_tokens=options.reply_tokens,
            reasoning=options.reasoning,
            cache_ttl=options.cache_ttl,
        )
        guarded = self._supervisor.may_guard("assistant_message")
        builder = ReplyBuilder(withhold=guarded and not options.stream_before_guards)
        started = False
        for line in self._model_calls.lines(params, builder):
            if not started and line["type"] != "error":
                self._event_writer.emit(events.AssistantStart())
                started = True
            if line["type"] == "tool_use_start":
                self._toolbox.warm_up(line["name"])
            for record in builder.take(line):
                self._event_writer.emit(record)
        assert builder.reply is not None
        self._finish_reply(builder, builder.reply, options.model, started=started)
        if started and self._supervisor.extensions:
            self._charge_extensions(params, builder.reply.usage, options.model)
        return builder.reply

    def _charge_extensions(self, params: Mapping[str, Any], usage: Mapping[str, int], model: str) -> None:
        accounts = {extension.name: extension.account for extension in self._supervisor.extensions}
        for name, share in shares_of(params, usage, catalogue.find(model), self._toolbox.extension_of).items():
            if name in accounts:
                accounts[name].charge(share.tokens, share.usd)

    def _finish_reply(self, builder: ReplyBuilder, reply: ModelReply, model: str, *, started: bool) -> None:
        """The transcript keeps the original text; readers and observers get what the guards let through."""
        self.said = said = guard_text(text_of(reply.kept), self._supervisor, self._abort)
        for record in builder.release(said.text):
            self._event_writer.emit(record)
        if started:
            self._tell_usage(model, self._model_calls.count(model, reply))
        message = Message("assistant", reply.kept, now())
        if message.content:
            self._conversation.append(message)
        if started:
            self._conversation.measure(reply.usage)
        if said.blocked is not None or not message.content:
            return
        self.text = said.text or self.text
        shown = _with_text(message.content, said.text) if said.is_rewritten else message.content
        self._event_writer.emit(events.AssistantMessage(event_content.content(shown), message.time))
        self._supervisor.tell(frames.Event("assistant_message", text=text_of(shown, "") or None))


def _with_text(content: tuple[Block, ...], text: str) -> tuple[Block, ...]:
    """The content with the rewritten text in place of the first text block and without the other text blocks."""
    shown: list[Block] = []
    placed = False
    for block in content:
        if not isinstance(block, Text):
            shown.append(block)
        elif not placed:
            shown.append(Text(text))
            placed = True
    return tuple(shown)
