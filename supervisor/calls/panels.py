"""The notes and panels that extensions show the user. Only the extension that sent a note or panel can change it.

A note stays until the user's next prompt, or until its extension clears all its notes. The answer to a command opens a
panel, and so does a message of its extension. The worker that opened it redraws and closes it. The user, and the end of
the worker, close it, too.
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from supervisor.loop.rate_limit import TokenBucket
from wire import events, frames
from wire.suggestions import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Shown, Worker
    from supervisor.loop.loop import Loop, Timer
    from wire.dialects.base import PanelChange

LEVELS = ("info", "success", "warn", "error")
NOTES_LIMIT = 100
"""Maximum number of notes of one extension at the same time. A further note removes the oldest."""
PANELS_LIMIT = 20
"""Maximum number of open panels of one extension."""
LINES_LIMIT = 1000
TEXT_LIMIT = 4000
"""Maximum number of characters of a title, a footer or a line."""
RENDERS_BURST = 10
RENDERS_PER_SECOND = 20.0
"""Maximum number of redraws per second of a panel, after a burst of `RENDERS_BURST`. Of more, the newest is shown."""


class Note(msgspec.Struct, frozen=True):
    """A line from an extension for the user. `level` is one of `LEVELS`."""

    extension: str
    level: str
    message: str


class OpenPanel(msgspec.Struct):
    """A panel, its worker and its newest content."""

    extension: Extension
    worker: Worker
    id: str
    gate: TokenBucket
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""
    timer: Timer | None = None


class Panels:
    """The notes and open panels of one host. `show` gets each change as a record, from within the loop."""

    def __init__(self, loop: Loop, show: Callable[[events.Record], None]) -> None:
        self._notes: dict[str, deque[tuple[int, Note]]] = {}
        """The present notes of each extension, each with its number."""
        self._note_count = 0
        self._loop = loop
        self._show = show
        self._panels: dict[tuple[str, str], OpenPanel] = {}
        self._gates: dict[str, TokenBucket] = {}
        """The gates of panels that extensions open by themselves."""

    # --- notes ----------------------------------------------------------------------------------------------

    @property
    def notes(self) -> list[Note]:
        """The present notes, oldest first."""
        return [note for _, note in sorted(chain.from_iterable(self._notes.values()))]

    def note(self, extension: str, level: str, message: str) -> None:
        """Adds and shows a note. An unknown level becomes `info`. Above `NOTES_LIMIT` removes the oldest note."""
        known = level if level in LEVELS else "info"
        self._note_count += 1
        own = self._notes.setdefault(extension, deque(maxlen=NOTES_LIMIT))
        own.append((self._note_count, Note(extension, known, message)))
        self._show(events.ExtNotify(extension, known, message))  # type: ignore[arg-type]

    def begin_prompt(self) -> None:
        """Removes all notes: the user has seen them. No record is sent; the reader of the stream knows this rule."""
        self._notes.clear()

    def _clear_notes(self, extension: str) -> None:
        if self._notes.pop(extension, None):
            self._show(events.ClearNotes(extension))

    # --- panels ---------------------------------------------------------------------------------------------

    @property
    def open_panels(self) -> Sequence[OpenPanel]:
        return list(self._panels.values())

    def has_panel(self, extension: Extension) -> bool:
        """Whether a panel of the extension is open."""
        return any(panel.extension is extension for panel in self._panels.values())

    def open(self, extension: Extension, worker: Worker, asked: frames.Panel) -> str | None:
        """Opens a panel, or redraws the open panel of that id. Returns None, or why the panel is refused."""
        key = (extension.name, asked.id)
        panel = self._panels.get(key)
        if panel is None:
            if sum(1 for name, _ in self._panels if name == extension.name) >= PANELS_LIMIT:
                return f"it has {PANELS_LIMIT} panels open, the maximum"
            panel = OpenPanel(
                extension, worker, asked.id, TokenBucket(self._loop.clock(), RENDERS_BURST, RENDERS_PER_SECOND)
            )
            self._panels[key] = panel
        panel.worker = worker
        _draw(panel, asked)
        self._show(events.PanelOpen(extension.name, panel.id, panel.title, panel.lines, panel.footer))
        return None

    def _open_unasked(self, extension: Extension, worker: Worker, asked: frames.Panel) -> str | None:
        """Opens a panel as `open` does. A flood of them is not shown."""
        if worker not in extension.workers:
            return "its version has not taken over yet"
        if not worker.state.is_up:
            return "its process is being stopped"
        gate = self._gates.setdefault(extension.name, TokenBucket(self._loop.clock(), PANELS_LIMIT, RENDERS_PER_SECOND))
        if not gate.admits(self._loop.pass_time):
            return "it opens panels faster than they can be shown"
        return self.open(extension, worker, asked)

    def showed(self, extension: Extension, worker: Worker, frame: Shown) -> None:
        """Carries out a frame that changes notes or a panel."""
        if isinstance(frame, frames.ClearNotes):
            self._clear_notes(extension.name)
            return
        if isinstance(frame, frames.OpenPanel):
            if refusal := self._open_unasked(extension, worker, frame.panel):
                extension.notices.warn(f"panel {refusal}", f"a panel that it opens is not shown: {refusal}")
            return
        panel = self._panels.get((extension.name, frame.panel_id))
        if panel is None or panel.worker is not worker:
            extension.notices.remark(
                f"{frame.__struct_config__.tag} for {frame.panel_id[:80]!r}, which is not open; ignored"
            )
        elif isinstance(frame, frames.PanelClosed):
            self._close(panel)
        else:
            _draw(panel, frame)
            self._redraw(panel)

    def _redraw(self, panel: OpenPanel) -> None:
        if panel.timer is not None:
            return
        if panel.gate.admits(self._loop.pass_time):
            self._show(events.PanelRender(panel.extension.name, panel.id, panel.title, panel.lines, panel.footer))
        else:
            panel.timer = self._loop.call_later(1 / RENDERS_PER_SECOND, lambda: self._redraw_late(panel))

    def _redraw_late(self, panel: OpenPanel) -> None:
        panel.timer = None
        self._redraw(panel)

    def _close(self, panel: OpenPanel) -> None:
        del self._panels[panel.extension.name, panel.id]
        if panel.timer is not None:
            panel.timer.cancel()
        self._show(events.PanelClose(panel.extension.name, panel.id))

    def prune(self) -> None:
        """Closes the panels whose workers are not up, or do not belong to the current generation."""
        for panel in self.open_panels:
            if not panel.worker.state.is_up or panel.worker not in panel.extension.workers:
                self._close(panel)

    # --- from the user --------------------------------------------------------------------------------------

    def press(self, extension: str, panel_id: str, key: str, text: str | None = None) -> None:
        """Sends a key to the panel's worker, whose next redraws are shown at once: the user waits for them. Raises
        `UnknownNameError` if the panel is not open."""
        self._pass_on(extension, frames.PanelKey(panel_id, key, text))
        panel = self._panels[extension, panel_id]
        panel.gate = TokenBucket(self._loop.clock(), RENDERS_BURST, RENDERS_PER_SECOND)
        if panel.timer is not None:
            panel.timer.cancel()
            self._redraw_late(panel)

    def resize(self, extension: str, panel_id: str, width: int, height: int) -> None:
        """Sends the panel's size in characters to its worker. Raises `UnknownNameError` if the panel is not open."""
        self._pass_on(extension, frames.PanelResize(panel_id, width, height))

    def close(self, extension: str, panel_id: str) -> None:
        """Closes a panel for the user and tells its worker. Raises `UnknownNameError` if the panel is not open."""
        self._pass_on(extension, frames.PanelClosed(panel_id))
        self._close(self._panels[extension, panel_id])

    def _pass_on(self, extension: str, change: PanelChange) -> None:
        panel = self._panels.get((extension, change.panel_id))
        if panel is None:
            known = ["/".join(key) for key in self._panels]
            raise UnknownNameError("open panel", f"{extension}/{change.panel_id}", known)
        panel.worker.requests.tell_panel(change)


def _draw(panel: OpenPanel, content: frames.Panel | frames.PanelRender) -> None:
    """Copies the fields of a frame into the panel. Fields that the frame leaves out stay as they are."""
    if content.title is not None:
        panel.title = content.title[:TEXT_LIMIT]
    if content.lines is not None:
        panel.lines = tuple(line[:TEXT_LIMIT] for line in content.lines[:LINES_LIMIT])
    if content.footer is not None:
        panel.footer = content.footer[:TEXT_LIMIT]
