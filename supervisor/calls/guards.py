"""The guards of each event, the starting extensions for which a verdict waits, and the counts of verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.calls.guard_chain import BEFORE_AGENT_START, DENIABLE, UNTOUCHED, Judgement, fold, rounds_of
from supervisor.calls.permissions import Permissions
from wire import frames
from wire.dialects.base import HOOK_POINTS
from wire.dialects.verdict import GuardVerdict, VerdictKind
from wire.text import noun_for, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.extension.extension import Extension
    from supervisor.loop.loop import Loop, Timer
    from wire.frames import Event

TOOL_LENGTH = 80
"""Maximum number of characters of a tool's name in a notice. The model may have made it up."""
FIRST = frozenset({"user_prompt", "turn_start"})
"""Events that are judged before the first request to the model."""


class Guards:
    """The guards of one host: for each event the extensions to ask, in order."""

    def __init__(self, loop: Loop, extensions: Sequence[Extension]) -> None:
        self.cancellations: list[str] = []
        """The reason of each `cancel` so far."""
        self.permissions = Permissions()
        """The questions that a person decides."""
        self._by_event: dict[str, tuple[tuple[Extension, ...], ...]] | None = None
        """The guards of each event, in rounds. A change sets this to None until it is built again."""
        self._loop = loop
        self._extensions = extensions
        self._waiting: list[Callable[[], None]] = []
        self._timer: Timer | None = None
        self.on_start_over: list[Callable[[], None]] = []
        """Called when the start of an extension may be over."""
        self.is_complete = False
        """Whether the host knows the guards of every extension. A plain attribute, since every verdict reads it."""

    def forget(self) -> None:
        """Called when a subscription has changed, or the list or order of the extensions."""
        self._by_event = None

    def expect_more(self) -> None:
        """Called when an extension starts: it may be a guard."""
        self.is_complete = False

    def rounds(self, event: str) -> tuple[tuple[Extension, ...], ...]:
        """The guards of an event, in order and divided into rounds, see `rounds_of`. A guard that is down stays: it
        counts as a missing verdict. Raises `KeyError` for an event that cannot be guarded."""
        if self._by_event is None:
            self._by_event = {name: self._rounds_now(name) for name in HOOK_POINTS}
        return self._by_event[event]

    def rounds_about(self, event: Event) -> tuple[tuple[Extension, ...], ...]:
        """As `rounds`, without the extension that makes the call in question: it may wait for the call's result."""
        if event.origin_extension is None:
            return self.rounds(event.event)
        return self._rounds_now(event.event, event.origin_extension)

    def _rounds_now(self, event: str, besides: str = "") -> tuple[tuple[Extension, ...], ...]:
        guards = [each for each in self._extensions if event in each.guards and each.name != besides]
        if event in DENIABLE:
            return rounds_of(guards)
        if event == BEFORE_AGENT_START:  # each sees the prompt of the one before, also if it is independent
            return tuple((guard,) for guard in guards)
        return (tuple(guards),) if guards else ()  # no guard can change a past event: one round

    def of(self, event: str) -> list[Extension]:
        """The guards of an event, in order. Raises `KeyError` for an event that cannot be guarded."""
        return [guard for asked in self.rounds(event) for guard in asked]

    @property
    def is_settled(self) -> bool:
        """Every extension is ready or has failed."""
        return all(extension.is_settled for extension in self._extensions)

    def judge_unstarted(self, event: str) -> Judgement:
        """The judgement with which a chain begins.

        Before an extension is ready, the host does not know which events it guards. If its failure means deny, an
        extension that was never ready counts as a guard of every event that can be denied.
        """
        judgement = UNTOUCHED
        for extension in self._extensions:
            if not extension.was_ready and extension.denies_on_failure:
                reason = extension.failure or f"it is still starting ({extension.state.value})"
                verdict = GuardVerdict(VerdictKind.NO_VERDICT, reason)
                judgement = fold(judgement, extension.name, verdict, deny_on_failure=True)
                break
        self.is_complete = self.is_settled and not judgement.is_blocked
        return judgement if event in DENIABLE else UNTOUCHED

    def starting(self, event: str) -> list[Extension]:
        """The starting extensions for which a verdict on this event waits. For `FIRST` events these are only extensions
        whose failure means deny: the first request to the model must not wait for the slowest extension. Empty for an
        event that cannot be denied."""
        if event not in DENIABLE:
            return []
        return [
            extension
            for extension in self._extensions
            if not extension.is_settled and (event not in FIRST or extension.denies_on_failure)
        ]

    # --- waiting for starts, without polling ----------------------------------------------------------------

    def must_wait(self, event: str) -> bool:
        """Whether a verdict on this event must still wait for a starting extension."""
        starting = self.starting(event)
        return bool(starting) and self._loop.clock() < latest_start(starting)

    def call_at_change(self, event: str, callback: Callable[[], None]) -> None:
        """Calls `callback` once, in a later pass, when `must_wait` may have changed or all requests are cancelled."""
        self._waiting.append(callback)
        latest = latest_start(self.starting(event))
        if self._timer is None or self._timer.when > latest:
            self._stop_timer()
            self._timer = self._loop.call_at(latest, self.changed)

    def changed(self) -> None:
        """Called when the start of an extension is over, or the time to wait for it."""
        self._stop_timer()
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            self._loop.call_later(0, callback)
        for callback in self.on_start_over:
            callback()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def cancel(self, reason: str) -> None:
        """Blocks the events that are being judged."""
        self.cancellations.append(reason)
        self.permissions.cancel_all(reason)
        self.changed()

    def cancelled_since(self, count: int) -> str | None:
        """The reason of the newest cancellation after the first `count`; None without one."""
        return self.cancellations[-1] if len(self.cancellations) > count else None

    # --- verdicts -------------------------------------------------------------------------------------------

    def report(self, event: Event, verdicts: Sequence[tuple[Extension, GuardVerdict]]) -> None:
        """Counts verdicts that are more than a plain allow, and tells the user of them. `event` is as the guards saw
        it."""
        for extension, verdict in verdicts:
            if verdict.kind is VerdictKind.DENY:
                extension.account.blocks += 1
                extension.notices.tell("blocked", f"{_deed(event)}: {verdict.reason}")
            elif verdict.kind is VerdictKind.REFUSED:
                extension.account.blocks += 1
                extension.notices.tell("asked", f"wants a person to decide on {_subject(event)}: {verdict.reason}")
            elif verdict.kind is VerdictKind.NO_VERDICT:
                line = _missing_verdict_line(event.event, verdict.reason, extension.denies_on_failure)
                if not extension.is_halted:  # else a user wants it so
                    extension.account.no_verdicts += 1
                    extension.fell("no_verdict", f"{event.event}: {verdict.failure or 'bad answer'}")
                extension.notices.tell("no_verdict", line)
            else:
                _report_outputs(extension, event, verdict)


def latest_start(starting: Sequence[Extension]) -> float:
    """The time until which a verdict waits for these extensions: the latest start plus intercept timeout."""
    return max(extension.started_at + extension.timeouts.intercept for extension in starting)


def _report_outputs(extension: Extension, event: Event, verdict: GuardVerdict) -> None:
    tell = extension.notices.tell
    if verdict.kind in (VerdictKind.ASK, VerdictKind.PERMITTED):
        why = f": {verdict.reason}" if verdict.reason else ""
        if verdict.kind is VerdictKind.PERMITTED:
            tell("asked", f"wants a person to decide on {_subject(event)}{why}; the user allowed it")
        elif extension.lets_asked_pass:
            tell("asked", f"wants a person to decide on {_subject(event)}{why}; allowed (--allow-asked)")
        else:
            extension.account.blocks += 1
            end = "refused, since no user can be asked; --allow-asked lets such things pass"
            tell("asked", f"wants a person to decide on {_subject(event)}{why}; {end}")
            return
    elif verdict.reason:
        tell("remark", f"on {event.event}: {verdict.reason}")
    if verdict.additional_context:
        tell("context", f"adds {len(verdict.additional_context)} characters for the model on {_subject(event)}")
    if verdict.error_handling is not None:
        times = f" (at most {verdict.retry_count})" if verdict.error_handling == "retry" else ""
        tell("error_handling", f"says {verdict.error_handling}{times} after an error: {event.error or ''}")
    if verdict.notification:
        extension.notices.note(frames.Notify("warn", verdict.notification))
    if verdict.session_summary:
        tell("summary", f"sums up the session: {verdict.session_summary}")
    if verdict.system_prompt not in (None, event.system_prompt):
        after, before = len(verdict.system_prompt or ""), len(event.system_prompt or "")
        deed = f"replaced the system prompt ({after:,} {noun_for(after, 'character')}, {before:,} before)"
        tell("system_prompt", deed if after else f"removed the system prompt ({before:,} characters)")


def _tool(event: Event) -> str:
    """The tool of a call, with the extension that has made it: else the user would look for a call of the model."""
    tool = one_line(event.tool_name or "a tool", TOOL_LENGTH)
    return tool if event.origin_extension is None else f"{tool} for extension {event.origin_extension}"


def _subject(event: Event) -> str:
    """The event in words."""
    tool = _tool(event)
    return {
        "tool_call": f"a call of {tool}",
        "tool_result": f"the result of {tool}",
        "assistant_message": "a message of the model",
        "user_prompt": "the prompt",
        "turn_start": "the turn",
        "session_start": "the start of the session",
    }.get(event.event, event.event)


def _deed(event: Event) -> str:
    """The deed of a guard that blocked this event, in words."""
    tool = _tool(event)
    return {
        "tool_call": f"refused {tool}",
        "tool_result": f"withheld the result of {tool}",
        "assistant_message": "withheld a message of the model",
        "user_prompt": "refused the prompt",
        "turn_start": "refused the turn",
    }.get(event.event, f"refused {event.event}")


def _missing_verdict_line(event: str, reason: str, deny: bool) -> str:
    if event == BEFORE_AGENT_START:
        effect = "the system prompt stays as it was"
    elif event not in DENIABLE:
        effect = "nothing depends on it"
    elif deny:
        effect = "denied"
    else:
        effect = "allowed; to deny in such a case set on_failure in its extension.json, or --strict-guards"
    return f"gave no verdict on {event}: {reason}; {effect}"
