"""Asks the guards of a session's start and of its end, each once for a session."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from agent.run.turn.guarded_system_prompt import GuardedSystemPrompt
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.request_in_flight import RequestInFlight
    from supervisor.supervisor import Supervisor
    from wire.frames import SessionEnd, SessionSource

ABORTED_S = 2.0
"""Seconds for all guards of the end together after an abort and in a batch. Otherwise each has its own timeout."""


class HookState(Enum):
    NEW = "new"
    """No prompt has begun."""
    BEGUN = "begun"
    ENDED = "ended"


class SessionHooks:
    """A session begins with its first prompt that no guard has refused. One that never began has no end."""

    def __init__(self, supervisor: Supervisor, source: SessionSource) -> None:
        self.system_prompt = GuardedSystemPrompt(supervisor)
        self.said = ""
        """The last message of the session that readers saw."""
        self._supervisor = supervisor
        self._source = source
        self._state = HookState.NEW
        self._open = 0
        """The number of questions about earlier sessions that have no answer yet."""

    def start(self, prompt: str) -> str:
        """Asks the guards with the first prompt. Returns the context that they add for the model; "" later."""
        if self._state is not HookState.NEW:
            return ""
        self._state = HookState.BEGUN
        if not self._supervisor.guards.of("session_start"):
            return ""
        judgement = self._supervisor.intercept(frames.Event("session_start", source=self._source, text=prompt or None))
        return judgement.additional_context

    def leave(self, keep: Callable[[str], None], then: SessionSource) -> None:
        """Ends this session for another one, without waiting. `keep` gets the guards' summary, if any."""
        if self._state is HookState.BEGUN:
            self._ask("user_exit", "", keep)
        self._state, self._source, self.said = HookState.NEW, then, ""
        self.system_prompt.forget()

    def end(
        self,
        reason: SessionEnd,
        error: str,
        keep: Callable[[str], None],
        *,
        within_s: float | None,
        give_up: Callable[[], bool],
    ) -> None:
        """Asks, and waits for all answers, also those about earlier sessions: at most `within_s` seconds, and until
        `give_up` returns True."""
        asked = self._ask(reason, error, keep) if self._state is HookState.BEGUN else None
        self._state = HookState.ENDED
        if not self._open:
            return
        loop = self._supervisor.loop
        deadline = None if within_s is None else loop.clock() + within_s
        loop.run_until(lambda: not self._open or give_up(), deadline)
        if asked is not None:
            asked.cancel("the run ends")

    def _ask(self, reason: SessionEnd, error: str, keep: Callable[[str], None]) -> RequestInFlight | None:
        if not self._supervisor.guards.of("session_end"):
            return None
        self._open += 1

        def judged(judgement: Judgement) -> None:
            self._open -= 1
            if judgement.session_summary:
                keep(judgement.session_summary)

        event = frames.Event("session_end", reason=reason, text=self.said or None, error=error or None)
        return self._supervisor.begin_intercept(event, judged)
