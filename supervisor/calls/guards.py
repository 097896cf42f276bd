"""Asks extensions and waits: verdicts through the chain of guards, and tool calls. The hot path of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Raw

from supervisor.calls.verdict import ALLOW, UNTOUCHED, Judgement, Outcome, Verdict, fold, read_verdict
from supervisor.loop.pending import Failure
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.extension.extension import Extension, Listener
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop
    from supervisor.loop.pending import Pending
    from supervisor.registry.registration import Tool
    from wire.dialects.base import Dialect

FIRST = frozenset({"user_prompt", "turn_start"})
"""What is judged before the first request to the model."""


@dataclass(frozen=True)
class OwnedTool:
    """A tool and the extension that answers calls of it."""

    tool: Tool
    owner: Extension

    @property
    def patience_s(self) -> float:
        """How long a call may take."""
        return self.tool.timeout_s or self.owner.timeouts.tool_call


@dataclass(frozen=True)
class Answer:
    """What became of a tool call. A failure has a reason and no frame."""

    frame: frames.ToolResult | None
    failure: Failure | None = None
    reason: str = ""


class Calls:
    """All asking of one host, one thing at a time."""

    def __init__(
        self, loop: Loop, extensions: Sequence[Extension], dialect: Dialect, listener: Listener, *, strict: bool
    ) -> None:
        self._loop = loop
        self._extensions = extensions
        self._dialect = dialect
        self._listener = listener
        self._strict = strict
        self._guards: dict[str, list[Extension]] | None = None
        self._complete = False
        self._cancellations: list[str] = []

    def forget_guards(self) -> None:
        """What is guarded has changed, or who may guard."""
        self._guards = None

    def expect_more(self) -> None:
        """Extensions are starting that may turn out to guard something."""
        self._complete = False

    def guards_of(self, event: str) -> list[Extension]:
        """Who is asked, in order. A guard that died after it subscribed is still among them: its silence counts."""
        return (self._guards or self._guards_by_event())[event]

    def _guards_by_event(self) -> dict[str, list[Extension]]:
        self._guards = {
            name: [one for one in self._extensions if name in one.guards] for name in self._dialect.guardable
        }
        return self._guards

    @property
    def is_settled(self) -> bool:
        """Every extension is ready or has failed."""
        return all(extension.is_settled for extension in self._extensions)

    def intercept(self, event: frames.Event) -> Judgement:
        """Asks the guards of an event, one after another, until one blocks.

        Extensions that are still starting are waited for first, since they may turn out to be guards: until their
        intercept timeout has passed since their start. For a prompt and before a turn only those are waited for whose
        failure means deny: the first request to the model is not to depend on the slowest extension.
        """
        name = event.event
        judgement = UNTOUCHED
        if not self._complete:
            judgement = self._start_with(name)
            if judgement.is_blocked:
                return judgement
        guards = (self._guards or self._guards_by_event())[name]
        if not guards:
            return judgement
        question = self._dialect.question(event)
        asked_of = self._guards
        for extension in guards:
            if self._guards is not asked_of and name not in extension.guards:
                continue  # a new version of it has taken over meanwhile
            worker = extension.lead
            pending = worker.ask(question)
            worker.wait(pending, worker.timeouts.intercept)
            answer = pending.value
            verdict = read_verdict(name, answer) if type(answer) is frames.InterceptResponse else no_answer(pending)
            if verdict is ALLOW:
                continue
            if pending.failure is Failure.CANCELLED:
                return self._cancelled()
            judgement = self.add(judgement, name, extension, verdict)
            if judgement.is_blocked:
                return judgement
            if verdict.is_rewrite:
                event = rewritten(event, verdict)
                question = self._dialect.question(event)
        return judgement

    def _start_with(self, event: str) -> Judgement:
        """What there is to say once those have been waited for that may yet turn out to guard it."""
        if not self._wait_for_starters(everyone=event not in FIRST):
            return self._cancelled()
        judgement = self.unstarted(UNTOUCHED)
        self._complete = self.is_settled and not judgement.is_blocked
        return judgement

    def add(self, judgement: Judgement, event: str, extension: Extension, verdict: Verdict) -> Judgement:
        """Books a verdict that is not a plain allow, and folds it in."""
        deny = self._denies_on_failure(extension)
        if verdict.outcome is Outcome.DENY:
            extension.account.blocks += 1
        elif verdict.outcome is Outcome.NO_VERDICT:
            self._listener.noticed(extension, "no_verdict", _no_verdict_line(event, verdict.reason, deny))
        return fold(judgement, extension.name, verdict, deny_on_failure=deny)

    def _cancelled(self) -> Judgement:
        return Judgement(blocked_by="host", reason=self._cancellations[-1])

    def _starters(self, *, everyone: bool) -> list[Extension]:
        """Who is still starting and may turn out to guard something: everyone, or those whose failure means deny."""
        return [one for one in self._extensions if not one.is_settled and (everyone or self._denies_on_failure(one))]

    def awaits(self, event: str) -> bool:
        """Whether a verdict on this event has to wait for somebody who is still starting."""
        starting = self._starters(everyone=event not in FIRST)
        return bool(starting) and self._loop.clock() < _patience_ends(starting)

    def _wait_for_starters(self, *, everyone: bool) -> bool:
        """False if the wait was cancelled."""
        starting = self._starters(everyone=everyone)
        before = len(self._cancellations)
        if starting:
            latest = _patience_ends(starting)
            self._loop.run_until(
                lambda: len(self._cancellations) > before or all(one.is_settled for one in starting), latest
            )
        return len(self._cancellations) == before

    def unstarted(self, judgement: Judgement) -> Judgement:
        """An extension that never got ready cannot say what it guards. Where its failure means deny, it is taken to
        guard everything."""
        for extension in self._extensions:
            if not extension.was_ready and self._denies_on_failure(extension):
                reason = extension.failure or f"it is still starting ({extension.state.value})"
                verdict = Verdict(Outcome.NO_VERDICT, reason)
                return fold(judgement, extension.name, verdict, deny_on_failure=True)
        return judgement

    def _denies_on_failure(self, extension: Extension) -> bool:
        return self._strict or extension.manifest.on_failure == "deny"

    def call(self, owned: OwnedTool, args: bytes) -> Answer:
        """Calls a tool and waits for its answer, as long as its own timeout or its extension's allows. A call that its
        worker's death has cut short is made again, once, if the tool allows it and there is another worker. Arguments
        that do not fit the tool's schema are answered by what is wrong with them; the extension hears nothing."""
        extension = owned.owner
        if (refusal := unfit(owned, args)) is not None:
            return refusal
        worker = extension.least_busy()
        pending = self._call(worker, owned, args)
        if (other := second_worker(owned, worker, pending)) is not None:
            pending = self._call(other, owned, args)
        return self.answered(owned, pending)

    def _call(self, worker: Worker, owned: OwnedTool, args: bytes) -> Pending:
        patience_s = owned.patience_s
        pending = worker.call(owned.tool.name, args, patience_s)
        worker.wait(pending, patience_s)
        return pending

    def answered(self, owned: OwnedTool, pending: Pending) -> Answer:
        """What an ended call amounts to."""
        extension, tool = owned.owner, owned.tool.name
        if pending.failure is not None:
            if pending.failure not in (Failure.CANCELLED, Failure.DIED):  # the user knows of these
                self._listener.noticed(extension, "warning", f"its tool {tool} failed: {pending.reason}")
            return Answer(None, pending.failure, pending.reason)
        frame: frames.FromExtension = pending.value
        if not isinstance(frame, frames.ToolResult):
            extension.account.errors += 1
            reason = f"it answered a tool call with {frame.__struct_config__.tag}"
            self._listener.noticed(extension, "warning", f"its tool {tool} failed: {reason}")
            return Answer(None, Failure.BAD_ANSWER, reason)
        if frame.is_error:
            extension.account.errors += 1
        return Answer(frame)

    def cancel_pending(self, reason: str) -> None:
        """Gives up all calls and verdicts that are waited for; what was to be judged is blocked."""
        self._cancellations.append(reason)
        for extension in self._extensions:
            extension.cancel_pending(reason)


def unfit(owned: OwnedTool, args: bytes) -> Answer | None:
    """The answer to a call whose arguments do not fit the tool's schema; None for one that may be made."""
    checker = owned.tool.checker
    fault = checker.fault(args)
    if checker.trouble:
        name = owned.tool.name
        owned.owner.voice.warn(f"schema {name}", f"calls of its tool {name!r} are not checked: {checker.trouble}")
    return None if fault is None else Answer(None, Failure.INVALID_ARGS, fault)


def _patience_ends(starting: Sequence[Extension]) -> float:
    return max(one.started_at + one.timeouts.intercept for one in starting)


def second_worker(owned: OwnedTool, first: Worker, pending: Pending) -> Worker | None:
    """Who may be asked again after the first one has died over a call."""
    if pending.failure is not Failure.DIED or not owned.tool.retry:
        return None
    other = owned.owner.least_busy(besides=first)
    return other if other.state.is_up else None


def no_answer(pending: Pending) -> Verdict:
    """What is to be made of anything but a verdict."""
    if pending.failure is not None:
        return Verdict(Outcome.NO_VERDICT, pending.reason)
    return Verdict(Outcome.NO_VERDICT, f"it answered with {pending.value.__struct_config__.tag}")


def rewritten(event: frames.Event, verdict: Verdict) -> frames.Event:
    """The event as the next guard is to see it."""
    result = verdict.modified_result
    return frames.Event(
        event.event,
        step=event.step,
        tool_id=event.tool_id,
        tool_name=event.tool_name,
        tool_args=event.tool_args if verdict.modified_args is None else Raw(verdict.modified_args),
        text=event.text if verdict.replace_text is None else verdict.replace_text,
        is_error=event.is_error if result is None or result.is_error is None else result.is_error,
        content=event.content if result is None else result.content,
    )


def _no_verdict_line(event: str, reason: str, deny: bool) -> str:
    effect = "denied" if deny else "allowed; to deny in such a case set on_failure in its manifest, or --strict-guards"
    return f"gave no verdict on {event}: {reason}; {effect}"
