"""Which extensions guard an event, which of them a verdict has to wait for, and what it means that one gave none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.calls.verdict import UNTOUCHED, Judgement, Outcome, Verdict, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.extension.extension import Extension
    from supervisor.loop.loop import Loop
    from wire.dialects.base import Dialect

FIRST = frozenset({"user_prompt", "turn_start"})
"""Events that are judged before the first request to the model."""


class Guards:
    """The guards of one host: for each event, the extensions that are asked, in order."""

    def __init__(self, loop: Loop, extensions: Sequence[Extension], dialect: Dialect, *, strict: bool) -> None:
        self.cancellations: list[str] = []
        """The reason of each `cancel_pending` so far."""
        self.by_event: dict[str, list[Extension]] | None = None
        """None while it has to be worked out again. A new object after each change, so that a verdict that is under
        way can tell whether the guards are still those that it began with."""
        self._loop = loop
        self._extensions = extensions
        self._dialect = dialect
        self._strict = strict
        self._complete = False

    def forget(self) -> None:
        """A subscription has changed, or the list or the order of the extensions."""
        self.by_event = None

    def expect_more(self) -> None:
        """Extensions are starting that may turn out to be guards."""
        self._complete = False

    def of(self, event: str) -> list[Extension]:
        """The guards of an event, in order. A guard that died after it subscribed is still among them: its silence
        counts. Raises `KeyError` for an event that cannot be guarded."""
        return (self.by_event or self._sort_by_event())[event]

    def _sort_by_event(self) -> dict[str, list[Extension]]:
        self.by_event = {
            name: [extension for extension in self._extensions if name in extension.guards]
            for name in self._dialect.guardable
        }
        return self.by_event

    @property
    def is_settled(self) -> bool:
        """Every extension is ready or has failed."""
        return all(extension.is_settled for extension in self._extensions)

    def is_complete(self) -> bool:
        """Whether every extension has said what it guards."""
        return self._complete

    def judge_unstarted(self) -> Judgement:
        """The judgement that a chain begins with.

        An extension that never got ready cannot say what it guards. Where its failure means deny, it is taken to guard
        every event."""
        judgement = UNTOUCHED
        for extension in self._extensions:
            if not extension.was_ready and self.denies_on_failure(extension):
                reason = extension.failure or f"it is still starting ({extension.state.value})"
                verdict = Verdict(Outcome.NO_VERDICT, reason)
                judgement = fold(judgement, extension.name, verdict, deny_on_failure=True)
                break
        self._complete = self.is_settled and not judgement.is_blocked
        return judgement

    def starting(self, event: str) -> list[Extension]:
        """Extensions that are still starting and that a verdict on this event waits for. For `FIRST` events these are
        only those whose failure means deny: the first request to the model must not depend on the slowest extension."""
        return [
            extension
            for extension in self._extensions
            if not extension.is_settled and (event not in FIRST or self.denies_on_failure(extension))
        ]

    def waits_for_start(self, event: str) -> bool:
        """Whether a verdict on this event has to wait for an extension that is still starting."""
        starting = self.starting(event)
        return bool(starting) and self._loop.clock() < latest_start(starting)

    def denies_on_failure(self, extension: Extension) -> bool:
        return self._strict or extension.manifest.on_failure == "deny"

    def count_verdict(self, judgement: Judgement, event: str, extension: Extension, verdict: Verdict) -> Judgement:
        """Counts a verdict that is not a plain allow, and folds it into the judgement."""
        deny = self.denies_on_failure(extension)
        if verdict.outcome is Outcome.DENY:
            extension.account.blocks += 1
        elif verdict.outcome is Outcome.NO_VERDICT:
            extension.noticed("no_verdict", _no_verdict_line(event, verdict.reason, deny))
        return fold(judgement, extension.name, verdict, deny_on_failure=deny)

    def cancel_pending(self, reason: str) -> None:
        """Fails all calls and verdicts under way; an event that was being judged is blocked."""
        self.cancellations.append(reason)
        for extension in self._extensions:
            extension.cancel_pending(reason)


def latest_start(starting: Sequence[Extension]) -> float:
    """Until when a verdict waits for these: the intercept timeout of each, from its start."""
    return max(extension.started_at + extension.timeouts.intercept for extension in starting)


def _no_verdict_line(event: str, reason: str, deny: bool) -> str:
    effect = "denied" if deny else "allowed; to deny in such a case set on_failure in its manifest, or --strict-guards"
    return f"gave no verdict on {event}: {reason}; {effect}"
