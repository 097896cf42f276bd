"""Records and lines of the engine that belong to no prompt: notes, panels, and notices about extensions."""

from __future__ import annotations

import asyncio
from collections import deque

from ..events import (
    ClearNotes,
    Error,
    ExtDisplay,
    ExtensionNotice,
    ExtInsert,
    ExtNotify,
    PanelClose,
    PanelOpen,
    PanelRender,
    Session,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..events import AnyEvent
    from .scene import Scene

ECHO_S = 0.15
"""Seconds that a line on stderr waits for a record that says the same."""
TOLD = 100
"""Lines of records that are compared with those on stderr."""
COMPARED = 1400
"""Characters of a line that are compared: the engine cuts longer ones on stderr."""
NEW_COMMANDS = frozenset({"started", "restarted", "reloaded", "failed", "exited"})
"""Notices after which an extension may have other commands."""


class Records:
    """Takes them into a scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._told: deque[str] = deque(maxlen=TOLD)

    def take(self, event: AnyEvent) -> None:
        """Shows a record."""
        its = self._scene
        match event:
            case ExtNotify(extension, level, message):
                self._tell(f"[{extension}] {level}: {message}")
                its.notes.add(extension, level, message)
                its.view.announce(its.notes.lines(its.transcript.columns, 1)[-1:])
            case ClearNotes(extension):
                its.notes.take_back(extension)
            case PanelOpen():
                its.panels.open(event)
                its.view.announce(its.panels.rows(its.transcript.columns, len(event.lines) + 10))
            case PanelRender():
                its.panels.draw(event)
            case PanelClose(extension, panel_id):
                if (panel := its.panels.close(extension, panel_id)) is not None:
                    its.say("dim", f"the panel {panel.title or panel.id} of {panel.extension} has closed")
            case ExtDisplay() | ExtInsert():
                return  # the outcome of the command says the same
            case Session():
                its.extensions.update(event.extensions)
                its.refresh_soon()
            case _:
                if isinstance(event, ExtensionNotice) and event.event in NEW_COMMANDS:
                    its.extensions.add(event.extension)
                    its.refresh_soon()
                self.note(event)
                its.view.show(its.transcript.take(event))
        its.view.change()

    def note(self, event: AnyEvent) -> None:
        """Remembers what a record says, for `line`."""
        if isinstance(event, Error):
            self._tell(*event.message.split("\n"))
        elif isinstance(event, ExtensionNotice):
            self._tell(f"{event.extension} {event.message}", f"extension {event.extension}: {event.message}")

    def _tell(self, *lines: str) -> None:
        self._told.extend(map(_beginning, lines))

    def line(self, line: str) -> None:
        """Shows a line on stderr, unless a record says the same, which may come a little later."""
        text = line.removeprefix("zot: ").strip()

        def show() -> None:
            if _beginning(text) not in self._told:
                self._scene.say("dim", text)

        asyncio.get_running_loop().call_later(ECHO_S, show)


def _beginning(line: str) -> str:
    return " ".join(line[: 4 * COMPARED].split())[:COMPARED]
