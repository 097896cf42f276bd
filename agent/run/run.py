"""One prompt from the user message to the last turn. Decides what happens next; other modules carry it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.answers.checked_text import AnswerAttempts, AnswerStage
from agent.images.limits import UnfitImageError
from agent.run.error_hook import ask_about_error
from agent.run.limits import step_refusal
from agent.run.session_hooks import SessionHooks
from agent.run.steer_queue import SteerQueue
from agent.run.summarizer import AutoCompactor, Summarizer
from agent.run.turn.model_call import ModelCalls
from agent.run.turn.turn import PromptEnd, Turns
from agent.run.user_messages import UserMessages
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.abort import Abort
    from agent.model.provider import Provider
    from agent.options import Options
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.tools.toolbox import Toolbox
    from agent.transcript import Image
    from supervisor.supervisor import Supervisor

RETRY_PAUSE_S = 0.5
"""Seconds before the first retry that a guard of errors wants; twice as long before each further one."""

SYSTEM = "system["
"""How a difference in the system prompt begins in the message about a request that differs from its recording."""
REPLACED = "an extension has replaced the system prompt: run without it (--no-ext), or record with it"


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
        steering: SteerQueue | None = None,
        session: SessionHooks | None = None,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        """`say` is called with each message to the user about compaction. All prompts of a session share `session`."""
        self.options = options
        """May be replaced while the prompt runs; the next request to the model is made with the new ones."""
        self.steps = 0
        self._conversation = conversation
        self._supervisor = supervisor
        self._abort = abort
        self._event_writer = event_writer
        session = SessionHooks(supervisor, "startup") if session is None else session
        self._messages = UserMessages(
            supervisor,
            toolbox,
            event_writer,
            conversation,
            abort,
            SteerQueue() if steering is None else steering,
            session,
        )
        self._system_prompt = session.system_prompt
        self._provider = provider.name
        self._model_calls = ModelCalls(provider, event_writer, conversation, abort)
        self._turns = Turns(supervisor, toolbox, self._model_calls, event_writer, conversation, abort)
        summarizer = Summarizer(self._model_calls, event_writer, conversation, abort, supervisor)
        self._compactor = AutoCompactor(summarizer, offered=toolbox.offered, say=say)
        self._attempts = None if options.answer_schema is None else AnswerAttempts(options.answer_schema.check)

    @property
    def usage(self) -> events.Totals:
        """The use of the model by all requests of the prompt."""
        return self._model_calls.usage

    @property
    def text(self) -> str:
        """The last text of the model that readers may see; only its JSON if that fits the schema of the answers."""
        return self._turns.text if not self.answer or self._attempts is None else self._attempts.checked.text

    @property
    def answer(self) -> msgspec.Raw | msgspec.UnsetType:
        """The JSON of an answer that fits the schema; unset without one."""
        return msgspec.UNSET if self._attempts is None else self._attempts.checked.answer

    def prompt(
        self, text: str, images: tuple[Image, ...] = (), *, files: Sequence[str] = (), sender: str = ""
    ) -> PromptEnd:
        """Runs turns until the model is done, until a failure, guard or abort ends the run, or until `max_steps` or
        the budget is reached. An answer that does not fit the schema gets one more turn. `files` and `sender`: see
        `UserMessages.begin`."""
        refused = self._begin(text, images, files, sender)
        return self._take_turns() if refused is None else refused

    def _begin(self, text: str, images: tuple[Image, ...], files: Sequence[str], sender: str) -> PromptEnd | None:
        """Adds the user's message. Returns the end of the prompt if it must not go to the model."""
        try:
            judgement = self._messages.begin(text, images, files, sender)
        except UnfitImageError as error:
            end = PromptEnd(Status.ERROR, str(error), error_context="user_input")
        else:
            if not judgement.is_blocked:
                return None
            end = PromptEnd(Status.BLOCKED, judgement.reason)
        if self._abort.status is not None:  # an abort has ended the scaling, or the wait for the guard
            return PromptEnd(self._abort.status, self._abort.reason)
        return end

    def _take_turns(self) -> PromptEnd:
        while (stop := self._before_turn()) is None:
            self.steps += 1
            end = self._take_turn()
            tries = 0
            while end is not None and end.error_context == "model_call" and self._prepare_retry(end, tries):
                tries += 1
                self._turns.take_back_reply()
                end = self._turns.aborted() if self._abort.requested else self._take_turn()
            if end is not None and (end := self._after_last_turn(end)) is not None:
                return end
        return stop

    def _take_turn(self) -> PromptEnd | None:
        end = self._turns.take(self.steps, self._guarded_options())
        if end is None:
            return None
        if end.error_kind == "cassette" and self._system_prompt.is_replaced and f"\n{SYSTEM}" in end.reason:
            return msgspec.structs.replace(end, reason=f"{end.reason}\n{REPLACED}")
        return self._take_again(end) if end.is_too_long else end

    def _guarded_options(self) -> Options:
        """The options of the next request, with the system prompt that its guards leave."""
        return self._system_prompt.applied_to(lambda: self.options, self._provider)

    def _prepare_retry(self, failed: PromptEnd, tries: int) -> bool:
        """Asks the guards of errors about a failed request, after `tries` retries, and waits for the pause before the
        next one. Returns whether to make the request again."""
        retries = ask_about_error(
            self._supervisor, self._abort, failed.reason, "model_call", recoverable=failed.can_retry
        )
        if retries.most <= tries or self._budget_used_up() is not None:
            return False
        pause_s = RETRY_PAUSE_S * 2**tries
        why = f"guard {retries.guard} says so"
        self._event_writer.emit(events.Retry(tries + 2, retries.most + 1, pause_s, why, None))
        self._event_writer.wait(lambda: False, self._supervisor.loop.clock() + pause_s)
        return True

    def _before_turn(self) -> PromptEnd | None:
        """Prepares the conversation for the next request. Returns the end of the prompt if no request may follow."""
        if (limit := self._limit_reached()) is not None:
            return limit
        self._messages.deliver_waiting()
        if self._abort.requested:
            return self._turns.aborted()
        self._compactor.before_request(self._guarded_options())
        if self._abort.is_requested():
            return self._turns.aborted()
        if (limit := self._limit_reached()) is not None:  # the compaction may have used up the budget
            return limit
        if self._attempts is not None and (words := self._attempts.take_request()) is not None:
            self._messages.add_unjudged(words)
        return None

    def _take_again(self, refused: PromptEnd) -> PromptEnd | None:
        """Compacts the conversation after a request that was too long, drops the model's text and takes the turn once
        more. If that is not possible, the prompt ends, with both reasons."""
        if (limit := self._budget_used_up()) is not None:  # by a reply that filled the window
            return msgspec.structs.replace(refused, status=limit.status, reason=f"{refused.reason}\n{limit.reason}")
        summary = self._compactor.after_refusal(self._guarded_options(), self._turns.asked)
        if self._abort.requested:
            return self._turns.aborted()
        if summary.status is not Status.OK:
            reason = f"{refused.reason}\nthe conversation was not compacted: {summary.reason}"
            kind = summary.error_kind or refused.error_kind
            return PromptEnd(summary.status, reason, refused.has_answer, may_pass=summary.may_pass, error_kind=kind)
        if (limit := self._budget_used_up()) is not None:
            return msgspec.structs.replace(limit, has_answer=refused.has_answer)
        self._turns.forget_reply()
        end = self._turns.take(self.steps, self._guarded_options())
        if end is not None and end.is_too_long:
            return msgspec.structs.replace(end, reason=f"{end.reason}\nit is too long although it was compacted")
        return end

    def _after_last_turn(self, end: PromptEnd) -> PromptEnd | None:
        """The end of the prompt after a turn that could be its last. None if another turn follows: a message waits, or
        the answer does not fit the schema."""
        if end.status is Status.OK and self._messages.has_waiting:
            if (limit := self._limit_reached()) is not None:
                return limit
            if self._messages.deliver_waiting():
                return None
            if self._abort.requested:
                return self._turns.aborted()
        if self._attempts is None:
            return end
        if end.status is not Status.OK:  # a program would read half an answer
            return msgspec.structs.replace(end, has_answer=False)
        said = self._turns.said
        match self._attempts.judge(said.text, is_rewritten=said.is_rewritten):
            case AnswerStage.FITS:
                return end
            case AnswerStage.FAILED:
                return PromptEnd(Status.INVALID_ANSWER, self._attempts.fault)
        return None

    def _limit_reached(self) -> PromptEnd | None:
        """The end of the prompt if no further turn may be taken."""
        if (reason := step_refusal(self.steps, self.options.max_steps)) is not None:
            return self._at_limit(Status.MAX_STEPS, reason)
        return self._budget_used_up()

    def _budget_used_up(self) -> PromptEnd | None:
        """The end of the prompt if no further request may be made."""
        used_up = self._conversation.spending.used_up()
        return None if used_up is None else self._at_limit(Status.BUDGET, used_up)

    def _at_limit(self, status: Status, reason: str) -> PromptEnd:
        fault = "" if self._attempts is None else self._attempts.fault
        return PromptEnd(status, f"{reason}; {fault}" if fault else reason)
