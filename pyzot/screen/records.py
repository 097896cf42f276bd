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
from .view.text import Palette

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
            name, text = event.extension, event.message
            self._tell(text, f"{name} {text}", f"extension {name}: {text}")

    def end(self, error: Exception) -> None:
        """Shows why an engine has ended, without those of its lines on stderr that are shown."""
        reason, *lines = str(error).split("\n")
        self._scene.say("error", "\n".join([f"✗ {reason}", *filter(self._is_new, lines)]))

    def _tell(self, *lines: str) -> None:
        self._told.extend(filter(None, map(_letters, lines)))

    def _is_new(self, line: str) -> bool:
        """Whether the line does not end as one that was shown; from now on it was."""
        is_new = not _letters(line).endswith(tuple(self._told))
        self._tell(line)
        return is_new

    def line(self, line: str) -> None:
        """Shows a line on stderr, unless a record says the same, which may come a little later."""

        def show() -> None:
            if self._is_new(line):
                self._scene.say("dim", line.removeprefix("zot: ").strip())

        asyncio.get_running_loop().call_later(ECHO_S, show)


def _letters(line: str) -> str:
    """The letters and digits at the beginning of a line: stderr has no colours and no control characters."""
    plain = Palette(has_colours=False).clean(line[: 4 * COMPARED]).removeprefix("zot: ")
    return "".join(filter(str.isalnum, plain))[:COMPARED]
