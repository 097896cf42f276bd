"""Runs a slash command of an extension, without waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.calls.request import InFlight
from supervisor.loop.pending import Failure
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.catalogue import OwnedCommand
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop
    from supervisor.loop.pending import Pending


@dataclass(frozen=True)
class CommandAnswer:
    """What became of a command. A failure has a reason and no frame."""

    frame: frames.CommandResponse | None
    failure: Failure | None = None
    reason: str = ""
    worker: Worker | None = None
    """Who answered."""


class CommandInFlight(InFlight):
    def __init__(self, loop: Loop, owned: OwnedCommand, args: str, done: Callable[[CommandAnswer], None]) -> None:
        super().__init__(loop)

        def ended(pending: Pending) -> None:
            if pending.failure is not None:
                done(CommandAnswer(None, pending.failure, pending.reason))
            elif isinstance(pending.value, frames.CommandResponse):
                done(CommandAnswer(pending.value, worker=worker))
            else:
                said = pending.value.__struct_config__.tag
                owned.owner.account.errors += 1
                done(CommandAnswer(None, Failure.BAD_ANSWER, f"it answered a command with {said}"))

        worker = owned.owner.least_busy()
        self._await(worker, worker.invoke(owned.command.name, args), worker.timeouts.command, ended)
