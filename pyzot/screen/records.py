"""Records of the engine that belong to no prompt: notes, panels, and notices about extensions."""

from __future__ import annotations

from .. import events
from .scene import Scene

NEW_COMMANDS = frozenset({"started", "restarted", "reloaded", "failed", "exited", "stopped"})
"""Notices after which an extension may have other commands."""


class Records:
    """Takes them into a scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._down: set[str] = set()
        """The extensions that have ended and not started again."""

    def take(self, event: events.AnyEvent) -> None:
        """Shows a record."""
        its = self._scene
        match event:
            case events.ExtNotify(extension, level, message):
                its.notes.add(extension, level, message)
                its.view.announce(lambda: its.notes.lines(its.transcript.columns, 1)[-1:])
            case events.ClearNotes(extension):
                its.notes.take_back(extension)
            case events.PanelOpen():
                its.panels.open(event)
                its.view.announce(lambda: its.panels.rows(its.transcript.columns, len(event.lines) + 10))
            case events.PanelRender():
                its.panels.draw(event)
            case events.PanelClose(extension, panel_id):
                panel = its.panels.close(extension, panel_id)
                if panel is not None and extension in self._down:
                    its.say("dim", f"the panel {panel.title or panel.id} of {panel.extension} has closed")
            case events.ExtDisplay() | events.ExtInsert():
                return  # the outcome of the command says the same
            case events.Session():
                its.extensions.update(event.extensions)
                its.refresh_soon()
            case _:
                if isinstance(event, events.ExtensionNotice) and event.event in NEW_COMMANDS:
                    its.extensions.add(event.extension)
                    change = self._down.add if event.event in ("failed", "exited", "stopped") else self._down.discard
                    change(event.extension)
                    its.refresh_soon()
                its.view.show(its.transcript.take(event))
        its.view.change()
