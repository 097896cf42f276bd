"""Asks the guards of the system prompt about it before requests to the model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from wire import frames
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.options import Options
    from supervisor.supervisor import Supervisor

EVENT = "before_agent_start"
PASSES_LIMIT = 3
"""Maximum number of times that all guards are asked before one request. A further change counts from the next one."""


class GuardedSystemPrompt:
    """The system prompt of a session as its guards leave it. They are asked before the first request, and again after a
    change of the model, of our own prompt, of the session or of the guards; each time about our own prompt, which has
    no texts of extensions. All prompts, retries and turns in between get the same text.

    A guard that starts late, or subscribes late, is a change of the guards; one that crashes is not, and one that a
    reload has replaced is.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._text: str | None = None
        """The text of the guards; None if they keep ours."""
        self._basis: object = None
        """The values of the last question, see `_basis_of`."""
        self._sessions = 0

    def forget(self) -> None:
        """Called when another conversation replaces that of the session."""
        self._sessions += 1
        self._text, self._basis = None, None

    @property
    def is_replaced(self) -> bool:
        return self._text is not None

    def applied_to(self, current: Callable[[], Options], provider: str) -> Options:
        """The options of the next request. `current` returns the ones with our own prompt, which may change while the
        guards are asked. After an abort meanwhile these are returned, and nothing is kept."""
        passes = 0
        while (basis := self._basis_of(options := current())) != self._basis and passes < PASSES_LIMIT:
            judgement = self._supervisor.intercept(
                frames.Event(
                    EVENT,
                    session_id=self._supervisor.observers.session_id,
                    agent_run_id=os.urandom(8).hex(),
                    cwd=valid_text(options.cwd),
                    provider=provider,
                    model=options.model,
                    system_prompt=valid_text(options.system + options.system_end),
                )
            )
            if judgement.is_blocked:  # by an abort: no guard can
                return options
            self._text, self._basis = judgement.system_prompt, basis
            passes += 1
        if self._text is None:
            return options
        return msgspec.structs.replace(options, system=self._text, system_end="")

    def _basis_of(self, options: Options) -> object:
        """The values whose change makes the guards be asked again; None without guards."""
        if not (guards := self._supervisor.guards.of(EVENT)):
            return None
        versions = [(guard, guard.reloads) for guard in guards]
        return self._sessions, options.model, options.system, options.system_end, versions
