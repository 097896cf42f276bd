"""Edits the line that is being typed, key by key. Pure."""

from __future__ import annotations

import codecs
from enum import Enum
from typing import TYPE_CHECKING

from cli.top.keyboard import Keys

if TYPE_CHECKING:
    from collections.abc import Callable

HISTORY = 500
CONTROLS = {
    b"\x01": b"\x1b[H",
    b"\x05": b"\x1b[F",
    b"\x02": b"\x1b[D",
    b"\x06": b"\x1b[C",
    b"\x10": b"\x1b[A",
    b"\x0e": b"\x1b[B",
}
"""Ctrl-A, E, B, F, P and N mean Home, End, Left, Right, Up and Down."""
END_OF_INPUT = "\x04"
TAB = "\t"


class Typed(Enum):
    END = "end"
    """Ctrl-D on an empty line."""


class LineEditor:
    """`feed` takes the bytes that a terminal sends and returns the finished lines, and `Typed.END`."""

    def __init__(self, complete: Callable[[str], list[str]] | None = None) -> None:
        self.text = ""
        self.cursor = 0
        self.choices: list[str] = []
        """The possible completions of the last Tab."""
        self._complete = complete or (lambda _text: [])
        self._keys = Keys()
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._history: list[str] = []
        self._recalled = 0
        """Index into the history; its length for the new line."""
        self._draft = ""

    def feed(self, data: bytes) -> list[str | Typed]:
        for control, key in CONTROLS.items():
            data = data.replace(control, key)
        found: list[str | Typed] = []
        piece = ""
        for character in self._decoder.decode(data):
            if character in (END_OF_INPUT, TAB):
                self._press_all(piece, found)
                piece = ""
                if character == TAB:
                    self._tab()
                elif not self.text:
                    found.append(Typed.END)
            else:
                piece += character
        self._press_all(piece, found)
        return found

    @property
    def has_open_sequence(self) -> bool:
        return self._keys.has_open_sequence

    def end_sequence(self) -> None:
        """Ends an open escape sequence. To be called when its rest does not come in time."""
        self._keys.end_sequence()

    def _press_all(self, text: str, found: list[str | Typed]) -> None:
        lines = (self._press(key) for key in self._keys.feed(text.encode()))
        found += [line for line in lines if line is not None]

    def _press(self, key: str) -> str | None:
        self.choices = []
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        match key:
            case "enter":
                return self._finish()
            case "backspace":
                self._set(before[:-1], after)
            case "erase":
                self._set("", after)
            case "up" | "down":
                self._recall(-1 if key == "up" else 1)
            case "left" | "right" | "home" | "end":
                self._move(key)
            case _ if len(key) == 1:
                self._set(before + key, after)
        return None

    def _move(self, key: str) -> None:
        places = {"left": self.cursor - 1, "right": self.cursor + 1, "home": 0, "end": len(self.text)}
        self.cursor = min(max(0, places[key]), len(self.text))

    def _set(self, before: str, after: str = "") -> None:
        self.text = before + after
        self.cursor = len(before)

    def clear(self) -> None:
        self._set("")

    def _finish(self) -> str:
        line = self.text
        if line.strip() and self._history[-1:] != [line]:
            self._history = [*self._history[-HISTORY + 1 :], line]
        self._recalled = len(self._history)
        self._set("")
        return line

    def _recall(self, step: int) -> None:
        recalled = self._recalled + step
        if not 0 <= recalled <= len(self._history):
            return
        if self._recalled == len(self._history):
            self._draft = self.text
        self._recalled = recalled
        self._set(self._draft if recalled == len(self._history) else self._history[recalled])

    def _tab(self) -> None:
        if self.cursor != len(self.text):
            return
        lines = self._complete(self.text)
        common = _common_start(lines)
        if len(common) > len(self.text):
            self._set(common)
        self.choices = lines if len(lines) > 1 else []

    def window(self, width: int) -> tuple[str, int]:
        """The part of the line around the cursor that fits in `width` columns, and the cursor's place in it."""
        start = max(0, self.cursor - width + 1)
        return self.text[start : start + width], self.cursor - start


def _common_start(lines: list[str]) -> str:
    if not lines:
        return ""
    first, last = min(lines), max(lines)
    return first[
        : next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    ]
