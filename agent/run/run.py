"""One prompt from the user message to the last turn. Decides what happens next; other modules carry it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.answers.verdict import repair_request
from agent.images.limits import UnfitImageError
from agent.model.request import build_params
from agent.output import event_content
from agent.run.model_call import ModelCalls
from agent.run.reply_builder import ModelReply, ReplyBuilder
from agent.run.steering import Steering
from agent.run.summarizer import AutoCompactor
from agent.run.tool_calls import ToolCalls
from agent.transcript import Block, Image, Message, Text, now, text_of
from supervisor.calls.verdict import Judgement
from wire import events, frames
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.abort import Abort
    from agent.answers.verdict import Verdict
    from agent.model.provider import Provider
    from agent.options import Options
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.tools.toolbox import Toolbox
    from supervisor.supervisor import Supervisor


class PromptEnd(msgspec.Struct, frozen=True):
    """Why the turns of a prompt ended."""

    status: Status
    reason: str = ""
    has_answer: bool = False
    """Whether the last text of the model is its answer: the model has ended it, though maybe for an unusual reason."""
    is_too_long: bool = False
    """Whether the request was too long, and has to be shorter to be made again."""


class _Asked(msgspec.Struct, frozen=True):
    """The last request: its model, how many messages it had, and the `text` of the run before it."""

    model: str
    messages: int
    text: str


class Run:
    """Carries out one prompt. It never raises for a failure of an extension, a tool or the model."""

    def __init__(
        self,
        options: Options,
        *,
        supervisor: Supervisor,
        provider: Provider,
        toolbox: Toolbox,
        event_writer: EventWriter,
        conversation: Conversation,
        abort: Abort,
        steering: Steering | None = None,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        """`say` gets lines for a person, about compactions."""
        self.options = options
        """May be replaced while the prompt runs; the next request to the model is made with the new ones."""
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._event_writer = event_writer
        self._conversation = conversation
        self._abort = abort
        self._steering = Steering() if steering is None else steering
        self._tool_calls = ToolCalls(supervisor, toolbox, event_writer, abort)
        self._model_calls = ModelCalls(provider, event_writer, conversation, abort)
        self._compactor = AutoCompactor(
            self._model_calls, event_writer, conversation, abort, offered=toolbox.offered, say=say
        )
        self.steps = 0
        self.text = ""
        """The last assistant message that readers may see; if it fits the schema of the answers, its JSON alone."""
        self.answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
        """The JSON of an answer that fits."""
        self._final_text = ""
        """What readers may see of the last reply."""
        self._misfit: Verdict | None = None
        """The answer that did not fit; the model gets one more turn."""
        self._is_repair_due = False
        self._asked = _Asked(options.model, 0, "")
        self._text_blocked = ""
        """Why a guard withheld the last message; "" if none did."""

    @property
    def usage(self) -> events.Totals:
        """The use of the model by all requests of the prompt."""
        return self._model_calls.usage

    def prompt(self, text: str, images: tuple[Image, ...] = ()) -> PromptEnd:
        """Runs turns until the model is done, a failure, a guard or an abort ends the run, or `max_steps` or the budget
        is used up. After an answer that does not fit the schema there is one more turn."""
        try:
            images = self._toolbox.fit_message(images, self._event_writer.wait)
        except UnfitImageError as error:
            if self._abort.status is not None:  # it has ended the scaling
                return PromptEnd(self._abort.status, self._abort.reason)
            return PromptEnd(Status.ERROR, str(error))
        return self._converse(text, images)

    def _converse(self, text: str, images: tuple[Image, ...]) -> PromptEnd:
        message, judgement = self._judge_message(text, images)
        was_aborted = self._abort.is_requested()
        self._emit(events.UserMessage(event_content.content(message.content), message.time))
        if judgement.is_blocked and was_aborted and self._abort.status is not None:
            return PromptEnd(self._abort.status, self._abort.reason)
        if judgement.is_blocked:
            return PromptEnd(Status.BLOCKED, judgement.reason)
        self._begin_message(message)
        end: PromptEnd | None = None
        while (stop := self._before_turn(end)) is None:
            self.steps += 1
            end = self._turn(self.steps)
            if end is not None and end.is_too_long:
                end = self._turn_again(end)
            is_steered = end is not None and end.status is Status.OK and self._steering.has_waiting
            if end is not None and not is_steered and (end := self._concluded(end)) is not None:
                return end
        return stop

    def _before_turn(self, end: PromptEnd | None) -> PromptEnd | None:
        """Makes the conversation ready for the next request. Returns the end of the prompt if there is none. `end` is
        how it would have ended, were there no messages waiting."""
        if (limit := self._limit_reached()) is not None:
            return limit
        if self._steering.has_waiting:
            is_steered = self._deliver_steers()
            if self._abort.is_requested():
                return self._aborted()
            if end is not None and not is_steered and (end := self._concluded(end)) is not None:
                return end
        self._compactor.before_request(self.options)
        if self._abort.requested:
            return self._aborted()
        if (limit := self._limit_reached()) is not None:  # the compaction may have used up the budget
            return limit
        if self._is_repair_due:
            self._ask_for_repair()
        return None

    def _limit_reached(self) -> PromptEnd | None:
        """The end of the prompt if no further request may be made."""
        if self.options.max_steps is not None and self.steps >= self.options.max_steps:
            status, reason = Status.MAX_STEPS, f"max steps ({self.options.max_steps}) exceeded"
        elif (used_up := self._conversation.spending.used_up()) is not None:
            status, reason = Status.BUDGET, used_up
        else:
            return None
        if self._is_repair_due and self._misfit is not None:
            reason += f"; the answer does not fit --output-schema: {self._misfit.summary}"
        return PromptEnd(status, reason)

    # --- the answer ---------------------------------------------------------------------------------------

    def _concluded(self, end: PromptEnd) -> PromptEnd | None:
        """The end of the prompt; None if another turn follows, because the answer does not fit the schema."""
        schema = self.options.answer_schema
        if schema is None or end.status is not Status.OK:
            return end
        verdict = schema.check(self._final_text)
        if verdict.fits:
            self.text, self.answer = verdict.text, verdict.answer
            return end
        if self._misfit is not None:
            reason = "the answer does not fit --output-schema, also after one more turn"
            return PromptEnd(Status.INVALID_ANSWER, f"{reason}: {verdict.summary}")
        self._misfit, self._is_repair_due = verdict, True
        return None

    def _ask_for_repair(self) -> None:
        """Tells the model what is wrong with its answer. No guard judges these words: no user has written them."""
        assert self._misfit is not None
        self._is_repair_due = False
        message = Message("user", (Text(repair_request(self._misfit)),), now())
        self._emit(events.UserMessage(event_content.content(message.content), message.time))
        self._begin_message(message)

    # --- messages of the user -----------------------------------------------------------------------------

    def _deliver_steers(self) -> bool:
        """Puts the messages that wait at the end of the conversation. A guard may block one, as it may a prompt: its
        notice says so, and the prompt goes on. Returns whether any was delivered."""
        is_steered = False
        while (steer := self._steering.take()) is not None:
            text, images = steer
            try:
                images = self._toolbox.fit_message(images, self._event_writer.wait)
            except UnfitImageError as error:  # the message was taken, so the model gets its words
                text, images = f"{text}\n\n[the images of this message are left out: {error}]", ()
            message, judgement = self._judge_message(text, images)
            if self._abort.is_requested():
                return False
            if judgement.is_blocked:
                continue
            self._emit(events.UserMessage(event_content.content(message.content), message.time))
            self._begin_message(message)
            is_steered = True
        return is_steered

    def _judge_message(self, text: str, images: tuple[Image, ...]) -> tuple[Message, Judgement]:
        judgement = self._supervisor.intercept(frames.Event("user_prompt", text=text))
        text = text if judgement.text is None else judgement.text
        return Message("user", (Text(text), *images) if text or not images else images, now()), judgement

    def _begin_message(self, message: Message) -> None:
        self._append(message)
        self._supervisor.tell(frames.Event("user_prompt", text=text_of(message.content)))

    # --- one turn -----------------------------------------------------------------------------------------

    def _turn(self, step: int) -> PromptEnd | None:
        """Runs one turn. None means that another turn follows."""
        self._emit(events.TurnStart(step))
        self._supervisor.tell(frames.Event("turn_start", step=step))
        judgement = self._supervisor.intercept(frames.Event("turn_start", step=step))
        if self._abort.requested:
            return self._aborted()
        if judgement.is_blocked:
            self._end_turn("error", judgement.reason)
            return PromptEnd(Status.BLOCKED, judgement.reason)
        reply = self._ask_model()
        calls = reply.tool_calls
        for call in calls:
            self._tool_calls.announce(call)
        was_withheld = bool(self._text_blocked) and not calls and self._abort.requested
        if reply.stop == "aborted" or was_withheld:  # the latter: an abort while guards judged the text
            return self._aborted()
        self._end_turn(reply.stop, reply.error if reply.stop != "length" else "")
        if calls:
            self._append(Message("tool", self._tool_calls.run(calls), now()))
            return self._aborted() if self._abort.requested else None
        if reply.status is not Status.OK:
            has_answer = reply.is_complete and not self._text_blocked and bool(text_of(reply.kept))
            return PromptEnd(reply.status, reply.error, has_answer, reply.is_too_long and not self._text_blocked)
        if self._text_blocked:
            return PromptEnd(Status.BLOCKED, self._text_blocked)
        return PromptEnd(Status.OK, has_answer=True)

    def _turn_again(self, refused: PromptEnd) -> PromptEnd | None:
        """Compacts the conversation after a request that was too long, and runs the turn once more; what the model may
        have said is dropped. Where that cannot be done, the prompt ends as it would have."""
        asked = self._conversation.transcript[: self._asked.messages]
        summary = self._compactor.after_refusal(self.options, asked)
        if self._abort.requested:
            return self._aborted()
        if summary.status is not Status.OK:
            reason = f"{refused.reason}\nthe conversation was not compacted: {summary.reason}"
            return PromptEnd(summary.status, reason, refused.has_answer)
        if (used_up := self._conversation.spending.used_up()) is not None:
            return PromptEnd(Status.BUDGET, used_up, refused.has_answer)
        self.text = self._asked.text
        end = self._turn(self.steps)
        if end is not None and end.is_too_long:
            return msgspec.structs.replace(end, reason=f"{end.reason}\nit is too long although it was compacted")
        return end

    def _aborted(self) -> PromptEnd:
        assert self._abort.status is not None
        self._end_turn("aborted", self._abort.reason)
        return PromptEnd(self._abort.status, self._abort.reason)

    def _end_turn(self, stop: str, error: str = "") -> None:
        end = events.TurnEnd(stop, error) if error else events.TurnEnd(stop)  # type: ignore[arg-type]
        self._emit(end)
        self._supervisor.tell(frames.Event("turn_end", stop=stop, error=error or None))

    # --- the model ----------------------------------------------------------------------------------------

    def _ask_model(self) -> ModelReply:
        options = self.options
        self._asked = _Asked(options.model, len(self._conversation.transcript), self.text)
        params = build_params(
            model=options.model,
            system=options.system,
            messages=self._conversation.transcript,
            tools=self._toolbox.offered(),
            max_tokens=options.reply_tokens,
            reasoning=options.reasoning,
        )
        guarded = self._supervisor.may_guard("assistant_message")
        builder = ReplyBuilder(withhold=guarded and not options.stream_before_guards)
        started = False
        for line in self._model_calls.lines(params, builder):
            if not started and line["type"] != "error":
                self._emit(events.AssistantStart())
                started = True
            if line["type"] == "tool_use_start":
                self._toolbox.warm_up(line["name"])
            for record in builder.take(line):
                self._emit(record)
        assert builder.reply is not None
        self._finish_reply(builder, builder.reply, started=started)
        return builder.reply

    def _finish_reply(self, builder: ReplyBuilder, reply: ModelReply, *, started: bool) -> None:
        """The transcript keeps the original text; readers and observers get what the guards let through."""
        self._final_text = ""
        original = text_of(reply.kept)
        judgement = self._judge_text(original)
        visible = original if judgement is None or judgement.text is None else judgement.text
        blocked = judgement is not None and judgement.is_blocked
        self._text_blocked = judgement.reason if judgement is not None and judgement.is_blocked else ""
        for record in builder.release("" if blocked else visible):
            self._emit(record)
        if started:
            self._model_calls.count(self._asked.model, reply.usage)
        message = Message("assistant", reply.kept, now())
        if message.content:
            self._append(message)
        if started:
            self._conversation.measure(reply.usage)
        if blocked or not message.content:
            return
        shown = message.content if visible == original else _with_text(message.content, visible)
        self._final_text = visible
        self.text = visible or self.text
        self._emit(events.AssistantMessage(event_content.content(shown), message.time))
        self._supervisor.tell(frames.Event("assistant_message", text=text_of(shown, "") or None))

    def _judge_text(self, text: str) -> Judgement | None:
        """None when there is nothing to judge. After an abort guards are not asked, so a guarded text is withheld."""
        if not text or not self._supervisor.may_guard("assistant_message"):
            return None
        if self._abort.requested:
            return Judgement(blocked_by="abort", reason=self._abort.reason)
        return self._supervisor.intercept(frames.Event("assistant_message", text=text))

    # --- records ------------------------------------------------------------------------------------------

    def _emit(self, record: events.Record) -> None:
        self._event_writer.emit(record)

    def _append(self, message: Message) -> None:
        self._conversation.append(message)


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
