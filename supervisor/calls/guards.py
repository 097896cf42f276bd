"""Which extensions guard an event, for which starting extensions a verdict waits, what a missing verdict means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.calls.verdict import UNTOUCHED, Judgement, Verdict, VerdictKind, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.extension.extension import Extension
    from supervisor.loop.loop import Loop
    from wire.dialects.base import Dialect

FIRST = frozenset({"user_prompt", "turn_start"})
"""Events that are judged before the first request to the model."""


class Guards:
    """The guards of one host: for each event the extensions to ask, in order."""

    def __init__(self, loop: Loop, extensions: Sequence[Extension], dialect: Dialect, *, strict: bool) -> None:
        self.cancellations: list[str] = []
        """The reason of each `cancel_pending` so far."""
        self.by_event: dict[str, list[Extension]] | None = None
        """The guards of each event, in order. A change sets this to None until it is built again. It is then a new
        object: this tells a pending verdict that the guards have changed."""
        self._loop = loop
        self._extensions = extensions
        self._dialect = dialect
        self._strict = strict
        self.is_complete = False
        """Whether the host knows what every extension guards. A plain attribute, since every verdict reads it."""

    def forget(self) -> None:
        """Drops `by_event`. Called when a subscription has changed, or the list or order of the extensions."""
        self.by_event = None

    def expect_more(self) -> None:
        """Called when an extension starts: it may be a guard."""
        self.is_complete = False

    def of(self, event: str) -> list[Extension]:
        """The guards of an event, in order. A guard that is down stays in the list: it counts as a missing verdict.
        Raises `KeyError` for an event that cannot be guarded."""
        return (self.by_event or self.sort_by_event())[event]

    def sort_by_event(self) -> dict[str, list[Extension]]:
        """Builds and returns `by_event`."""
        self.by_event = {
            name: [extension for extension in self._extensions if name in extension.guards]
            for name in self._dialect.guardable
        }
        return self.by_event

    @property
    def is_settled(self) -> bool:
        """Every extension is ready or has failed."""
        return all(extension.is_settled for extension in self._extensions)

    def judge_unstarted(self) -> Judgement:
        """The judgement with which a chain begins.

        Before an extension is ready, the host does not know which events it guards. If its failure means deny, an
        extension that was never ready counts as a guard of every event.
        """
        judgement = UNTOUCHED
        for extension in self._extensions:
            if not extension.was_ready and self.denies_on_failure(extension):
                reason = extension.failure or f"it is still starting ({extension.state.value})"
                verdict = Verdict(VerdictKind.NO_VERDICT, reason)
                judgement = fold(judgement, extension.name, verdict, deny_on_failure=True)
                break
        self.is_complete = self.is_settled and not judgement.is_blocked
        return judgement

    def starting(self, event: str) -> list[Extension]:
        """The starting extensions for which a verdict on this event waits. For `FIRST` events these are only extensions
        whose failure means deny: the first request to the model must not wait for the slowest extension."""
        return [
            extension
            for extension in self._extensions
            if not extension.is_settled and (event not in FIRST or self.denies_on_failure(extension))
        ]

    def waits_for_start(self, event: str) -> bool:
        """Whether a verdict on this event must still wait for a starting extension."""
        starting = self.starting(event)
        return bool(starting) and self._loop.clock() < latest_start(starting)

    def denies_on_failure(self, extension: Extension) -> bool:
        return self._strict or extension.manifest.on_failure == "deny"

    def count_verdict(self, judgement: Judgement, event: str, extension: Extension, verdict: Verdict) -> Judgement:
        """Counts a verdict that is not a plain allow, and folds it into the judgement."""
        deny = self.denies_on_failure(extension)
        if verdict.kind is VerdictKind.DENY:
            extension.account.blocks += 1
        elif verdict.kind is VerdictKind.NO_VERDICT:
            extension.noticed("no_verdict", _no_verdict_line(event, verdict.reason, deny))
        return fold(judgement, extension.name, verdict, deny_on_failure=deny)

    def cancel_pending(self, reason: str) -> None:
        """Cancels all pending calls and verdicts. Events that are being judged are blocked."""
        self.cancellations.append(reason)
        for extension in self._extensions:
            extension.cancel_pending(reason)


def latest_start(starting: Sequence[Extension]) -> float:
    """The time until which a verdict waits for these extensions: the latest start plus intercept timeout."""
    return max(extension.started_at + extension.timeouts.intercept for extension in starting)


def _no_verdict_line(event: str, reason: str, deny: bool) -> str:
    effect = "denied" if deny else "allowed; to deny in such a case set on_failure in its manifest, or --strict-guards"
    return f"gave no verdict on {event}: {reason}; {effect}"
