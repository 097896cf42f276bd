"""Runs a slash command of an extension, without waiting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.calls.request_in_flight import RequestInFlight
from supervisor.calls.tool_call import Answer, read_answer
from supervisor.loop.future import Failure
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.merged_registrations import OwnedCommand
    from supervisor.calls.panels import Panels
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop


CommandAnswer = Answer[frames.CommandResponse]


class CommandInFlight(RequestInFlight):
    """A run of a slash command. `done` gets the answer, after the panel that the answer names has been opened."""

    def __init__(
        self, loop: Loop, owned: OwnedCommand, args: str, panels: Panels, done: Callable[[CommandAnswer], None]
    ) -> None:
        super().__init__(loop)

        self._owned = owned
        self._panels = panels
        self._done = done
        worker = owned.owner.least_busy()
        requests = worker.requests
        pending = requests.invoke(owned.command.name, args)
        self._await(requests, pending, requests.timeouts.command, partial(self._ended, worker))

    def _ended(self, worker: Worker, pending: Pending) -> None:
        answer = read_answer(pending, frames.CommandResponse, "command", worker.requests.account)
        self._done(_open_panel(answer, self._owned, worker, self._panels))


def _open_panel(answer: CommandAnswer, owned: OwnedCommand, worker: Worker, panels: Panels) -> CommandAnswer:
    """Opens the panel if the answer's action is `open_panel`. Returns the answer, or a failure if that fails."""
    frame = answer.frame
    if frame is None or frame.action != "open_panel" or frame.error:
        return answer
    if frame.open_panel is None:
        return Answer(None, Failure.BAD_ANSWER, "it names no panel to open")
    refusal = panels.open(owned.owner, worker, frame.open_panel)
    return answer if refusal is None else Answer(None, Failure.BAD_ANSWER, refusal)
