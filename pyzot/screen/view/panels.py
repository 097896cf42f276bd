"""The open panels of extensions, stacked: the top one is drawn and gets the keys, the others show their title."""

from __future__ import annotations

from dataclasses import dataclass

from ...events import PanelOpen, PanelRender
from .text import Palette, fit, width_of

FRAME = 2
"""Columns and rows that the frame of a panel takes."""


@dataclass
class Panel:
    """One open panel; `scrolled` is the number of lines above the first shown one."""

    extension: str
    id: str
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""
    scrolled: int = 0
    told_size: tuple[int, int] = (0, 0)
    """The last size that the extension was told, in columns and rows of its lines."""


class PanelStack:
    """The panels, the top one last."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self._panels: dict[tuple[str, str], Panel] = {}
        self.shown_size = (0, 0)
        """Columns and rows for the lines of the top panel, when it was drawn last."""

    @property
    def top(self) -> Panel | None:
        """The panel that gets the keys."""
        return next(reversed(self._panels.values()), None)

    def open(self, event: PanelOpen) -> None:
        """Opens a panel on top; draws an open one again, and brings it to the top."""
        key = (event.extension, event.panel_id)
        self._panels[key] = self._panels.pop(key) if key in self._panels else Panel(*key)
        self.draw(event)

    def draw(self, event: PanelOpen | PanelRender) -> None:
        """Replaces the content of an open panel. Does nothing if it is not open."""
        if (panel := self._panels.get((event.extension, event.panel_id))) is not None:
            panel.title, panel.lines, panel.footer = event.title, event.lines, event.footer

    def close(self, extension: str, id_: str) -> Panel | None:
        """Removes a panel and returns it; None if it is not open."""
        return self._panels.pop((extension, id_), None)

    def clear(self) -> None:
        """Removes all panels: the engine has gone."""
        self._panels.clear()

    def scroll(self, pages: int) -> None:
        """Moves the top panel by pages, as far as it has more lines than fit."""
        if (panel := self.top) is not None:
            panel.scrolled += pages * self.shown_size[1]

    def rows(self, columns: int, rows: int) -> list[str]:
        """All panels in at most `rows` rows."""
        panel = self.top
        if panel is None:
            return []
        paint, inner = self._palette.paint, columns - 2 * FRAME
        below = [paint("dim", fit(f"▸ {self._name(each)}", columns)) for each in self._panels.values()][:-1]
        count = max(1, rows - len(below) - FRAME - bool(panel.footer))
        self.shown_size = (inner, count)
        panel.scrolled = max(0, min(panel.scrolled, len(panel.lines) - count))
        shown = panel.lines[panel.scrolled : panel.scrolled + count]
        hidden = len(panel.lines) - len(shown)
        where = f" {panel.scrolled + 1}-{panel.scrolled + len(shown)} of {len(panel.lines)}" if hidden else ""
        drawn = [self._line(line, inner) for line in shown]
        if panel.footer:
            drawn.append(self._line(panel.footer, inner, "dim"))
        head = fit(f"╭─ {self._name(panel)}{where} ", columns - 1)
        top = f"{head}{'─' * (columns - 1 - width_of(head))}╮"
        return [*below, paint("cyan", top), *drawn, paint("cyan", f"╰{'─' * (columns - 2)}╯")][-rows:]

    def _line(self, text: str, inner: int, style: str = "") -> str:
        paint = self._palette.paint
        line = fit(self._palette.clean(text.replace("\n", " ")), inner)
        return f"{paint('cyan', '│')} {paint(style, line)}{' ' * (inner - width_of(line))} {paint('cyan', '│')}"

    def _name(self, panel: Panel) -> str:
        title = self._palette.one_line(panel.title)
        return f"{title} [{panel.extension}]" if title else f"[{panel.extension}]"
