"""Reloads of extensions that the client has asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import State
from wire.rpc.responses import Reloaded, ReloadError
from wire.suggest import no_such
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agent.engine.engine import Engine
    from wire.control import ReloadOutcome

    Done = Callable[[Reloaded | str], None]


class Reloads:
    """Begins reloads. Each is answered once: when it is over, or when it is given up."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[int, Done] = {}
        self._count = 0

    def begin(self, name: str | None, done: Done) -> None:
        """Reloads one extension, with None all. `done` gets what was done in a later pass, or the text of an error."""
        self._count += 1
        number = self._count
        self._open[number] = done

        def ended(outcomes: tuple[ReloadOutcome, ...]) -> None:
            if self._open.pop(number, None) is None:
                return  # it was given up
            extensions = self._engine.supervisor.extensions
            if name is not None and not outcomes:
                done(no_such("extension", name, [extension.name for extension in extensions]))
            else:
                done(told(outcomes, {each.name for each in extensions if each.state is State.READY}))

        self._engine.reloader.begin(name, ended)

    def give_up(self, reason: str) -> None:
        """Answers the reloads that are not over with this error."""
        given_up, self._open = self._open, {}
        for done in given_up.values():
            done(reason)


def told(outcomes: Sequence[ReloadOutcome], ready: Collection[str]) -> Reloaded:
    """The outcomes in zot's four words. `ready` are the extensions that serve now. Pure."""

    def named(*kinds: str) -> tuple[str, ...]:
        return tuple(valid_text(each.name) for each in outcomes if each.outcome in kinds)

    return Reloaded(
        stopped=named("reloaded", "stopped"),
        loaded=named("reloaded", "started"),
        ready=tuple(valid_text(each.name) for each in outcomes if each.name in ready),
        errors=tuple(
            ReloadError(valid_text(each.name), valid_text(each.reason))
            for each in outcomes
            if each.outcome in ("kept", "skipped")
        ),
    )
