"""The notes of extensions: shown until the next prompt, Escape, /clear, or until their sender takes them back."""

from __future__ import annotations

from collections import deque

from .text import LEVELS, Palette, fit

LIMIT = 200
"""Maximum of notes; the oldest go first."""


class Notes:
    """The present notes, oldest first."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self._notes: deque[tuple[str, str, str]] = deque(maxlen=LIMIT)

    def add(self, sender: str, level: str, message: str) -> None:
        """Adds a note. An unknown level counts as `info`."""
        self._notes.append((sender, level if level in LEVELS else "info", message[:1000]))

    def clear(self) -> None:
        """Removes all notes."""
        self._notes.clear()

    def take_back(self, sender: str) -> None:
        """Removes the notes of one extension."""
        self._notes = deque((note for note in self._notes if note[0] != sender), maxlen=LIMIT)

    def lines(self, columns: int, rows: int) -> list[str]:
        """The newest notes, one line each, below the number of those that are left out if there is room for both."""
        paint = self._palette.paint
        shown = [
            fit(f"{paint(LEVELS[level], f'[{sender}]')} {self._palette.one_line(message)}", columns)
            for sender, level, message in list(self._notes)[-rows if rows > 0 else LIMIT :]
        ]
        if 1 < rows < len(self._notes):
            shown[0] = paint("dim", fit(f"… {len(self._notes) - rows + 1} earlier notes", columns))
        return shown
