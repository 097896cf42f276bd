"""Carries out the prompts that extensions send during a headless run, after the user's, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.abort import Abort
from agent.engine.host_calls.sent_prompts import MOST, SentPrompts
from agent.run import cost
from wire import events, frames
from wire.exit_codes import Status
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent.engine.host import EngineHost
    from agent.engine.host_calls.sent_prompts import SentPrompt
    from agent.engine.prompt_result import PromptResult
    from agent.run.slash_commands import Invocation
    from supervisor.extension.extension import Extension

REACTION_S = 1.0
"""Maximum wait after a prompt, in seconds, for the reaction of extensions to its end."""
WORK_S = 5.0
"""Maximum further wait, in seconds, for extensions that report that they still work on an event."""
LINGER_S = 0.01
"""Seconds without a message after which an extension counts as silent."""
SHOWN = 200
"""Maximum of characters of a prompt in the line about it."""
GOES_ON = (Status.OK, Status.BLOCKED, Status.MAX_STEPS, Status.INTERRUPTED)
"""The statuses of a sent prompt after which the next one runs. After another failure it would fail, too."""
BEFORE = "a prompt before it has failed"
STILL_AT_WORK = f"a handler of an event has not ended {WORK_S:g} s after the last prompt; its prompts are not awaited"
ENDING = "the run is ending: it takes no more prompts"


class SentRuns:
    """The sent prompts of one run. `abort` ends the whole run; each prompt also has an abort of its own."""

    def __init__(self, host: EngineHost, abort: Abort) -> None:
        self.ended: list[events.SentPrompt] = []
        """The records of the prompts that have run."""
        self._host = host
        self._engine = host.engine
        self._abort = abort
        self._prompts = SentPrompts()
        self._count = 0
        self._early: list[tuple[str, PromptResult]] = []
        """The senders and the results of the prompts that ran during the command."""
        self._why_not = ""
        self._dropped: list[SentPrompt] = []
        host.engine.host_calls.on_prompt = self._take
        host.engine.meanwhile = self

    def _take(self, prompt: SentPrompt) -> None:
        """Raises `SendRefusedError`."""
        engine, is_first = self._engine, not self._prompts.has_waiting
        self._prompts.add(prompt)
        queued = engine.is_running or not is_first or not engine.prompts  # the user's prompt comes first
        engine.tell_submitted(prompt.text, queued=queued)

    def run(self, ran: PromptResult, command: Invocation | None) -> PromptResult:
        """Carries out the prompts sent before and meanwhile, if the user's prompt succeeded. Returns the result of the
        run: that of the user's prompt with the use of all prompts. After a `command` without text it is that of the
        first prompt from the command's own extension."""
        owner = self._owner_of(command) if command is not None and not ran.text and not ran.steps else ""
        why_not = self._why_not or ("" if ran.status is Status.OK else BEFORE)
        early, self._early = self._early, []
        while True:
            for sender, sent in early or self._carry_out_waiting(why_not):
                takes_over = sender == owner
                ran = _join(ran, sent, takes_over=takes_over)
                owner = "" if takes_over else owner
                if self._abort.status is not None:
                    ran = msgspec.structs.replace(ran, status=self._abort.status, reason=self._abort.reason)
                elif sent.status not in GOES_ON:
                    why_not = BEFORE
            is_early, early = bool(early), []
            if why_not or self._abort.requested or not (is_early or self._has_reaction()):
                return self._end(ran, why_not)

    # --- during a command -----------------------------------------------------------------------------------

    @property
    def is_wanted(self) -> bool:
        """Whether a waiting prompt can run before the command ends."""
        return not self._why_not and self._prompts.has_waiting

    def carry_out(self) -> None:
        """Carries out the waiting prompts, then tells extensions that none waits: the running command may wait for
        that. After a failed prompt further ones are refused."""
        for sender, sent in self._carry_out_waiting(""):
            self._early.append((sender, sent))
            if sent.status not in GOES_ON:
                self._why_not = BEFORE
                self._dropped = self._prompts.close(BEFORE)
                return
        if not self._abort.requested:
            self._engine.supervisor.tell(frames.Event("idle"))

    # --- one prompt -----------------------------------------------------------------------------------------

    def _carry_out_waiting(self, why_not: str) -> Iterator[tuple[str, PromptResult]]:
        """Carries out the waiting prompts and yields the sender and the result of each."""
        while not why_not and not self._abort.requested and (prompt := self._prompts.next()) is not None:
            sent = self._carry_out(prompt)
            yield prompt.extension, sent
            if sent.status not in GOES_ON:
                return

    def _carry_out(self, prompt: SentPrompt) -> PromptResult:
        self._count += 1
        shown = one_line(prompt.text, SHOWN)
        self._host.notices.say(f"zot: extension {prompt.extension} sends prompt {self._count} of {MOST}: {shown}")
        abort = Abort()
        self._abort.on_request(lambda reason: abort.request(self._abort.status or Status.INTERRUPTED, reason))
        ran = self._engine.prompt(prompt.text, abort, sent=prompt)
        self._host.event_writer.abort = self._abort
        if ran.reason and not self._abort.requested and ran.status is not Status.BLOCKED:
            reason = f"the prompt of extension {prompt.extension}: {ran.reason}"
            ran = msgspec.structs.replace(ran, reason=reason)
        self._host.report_trouble(ran)
        self.ended.append(
            events.SentPrompt(
                extension=prompt.extension,
                status=ran.status.value,
                reason=ran.reason,
                text=ran.text,
                steps=ran.steps,
                usage=ran.usage,
                cost_usd=ran.usage.cost_usd,
            )
        )
        return ran

    def _has_reaction(self) -> bool:
        """Tells extensions that no prompt waits, if so. Returns whether a prompt has arrived meanwhile."""
        supervisor, clock = self._engine.supervisor, self._host.event_writer.clock
        senders = [each for each in supervisor.extensions if each.may_send]
        deadline = clock() + REACTION_S
        self._hear(senders, deadline)  # a prompt may be on its way
        if not self._prompts.has_waiting:
            supervisor.tell(frames.Event("idle"))
            self._hear_out(senders, deadline)
        return self._prompts.has_waiting

    def _hear_out(self, senders: Sequence[Extension], deadline: float) -> None:
        """Waits until the senders are silent and have handled their events."""
        clock, wait = self._host.event_writer.clock, self._host.event_writer.wait
        last = clock() + WORK_S
        is_quiet = not senders
        while not is_quiet and not self._is_over(deadline):
            self._hear(senders, deadline)
            if any(each.is_working for each in senders):
                wait(lambda: self._prompts.has_waiting or not any(each.is_working for each in senders), last)
                deadline = min(last, clock() + REACTION_S)
                continue
            heard = _frame_count(senders)
            wait(lambda: self._prompts.has_waiting, min(deadline, clock() + LINGER_S))
            is_quiet = _frame_count(senders) == heard
        if not self._prompts.has_waiting and not self._abort.requested:
            for each in senders:
                if each.is_working:
                    self._host.notices.notice(each, "warning", STILL_AT_WORK)

    def _hear(self, senders: Sequence[Extension], deadline: float) -> None:
        """Waits until all that the senders have sent has arrived; again if our answers made them send more."""
        clock = self._host.event_writer.clock
        is_quiet = not senders
        while not is_quiet and not self._is_over(deadline):
            heard = _frame_count(senders)
            self._round_trip(senders, deadline - clock())
            is_quiet = _frame_count(senders) <= heard + len(senders)  # nothing but the pongs

    def _round_trip(self, senders: Sequence[Extension], within_s: float) -> None:
        over: list[bool] = []
        self._engine.supervisor.round_trip(senders, lambda: over.append(True), within_s)
        self._host.event_writer.wait(lambda: bool(over))

    def _is_over(self, deadline: float) -> bool:
        return self._prompts.has_waiting or self._abort.requested or self._host.event_writer.clock() >= deadline

    def _end(self, ran: PromptResult, why_not: str) -> PromptResult:
        """Refuses further prompts, and says which ones were not carried out."""
        dropped = [*self._dropped, *self._prompts.close(ENDING)]
        if self._abort.requested:
            why_not = "the run was ended"
        supervisor = self._engine.supervisor
        for extension in supervisor.extensions:
            if count := sum(prompt.extension == extension.name for prompt in dropped):
                sent = f"{counted(count, 'prompt')} that it has sent {'was' if count == 1 else 'were'}"
                self._host.notices.notice(
                    extension,
                    "warning",
                    f"{sent} not carried out: {why_not}",
                )
        if dropped and self._abort.status is not None and ran.status is Status.OK:
            ran = msgspec.structs.replace(ran, status=self._abort.status, reason=self._abort.reason)
        if why_not:
            supervisor.tell(frames.Event("idle"))
        return ran

    def _owner_of(self, command: Invocation) -> str:
        owned = self._engine.supervisor.registrations.find_command(command.name)
        return "" if owned is None else owned.owner.name


def _frame_count(senders: Iterable[Extension]) -> int:
    """The number of frames that have come from the senders."""
    return sum(each.account.frames_in for each in senders)


def _join(ran: PromptResult, sent: PromptResult, *, takes_over: bool) -> PromptResult:
    """The result so far, joined with that of a further prompt."""
    base = sent if takes_over else ran
    return msgspec.structs.replace(base, steps=ran.steps + sent.steps, usage=cost.add(ran.usage, sent.usage))
