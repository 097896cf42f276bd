"""The time from a key written into a terminal until the terminal shows it.

Each key is another letter, which nothing else writes: its bytes in the output are its echo. A key counts as shown with
a later one, too: of a panel only the newest content is drawn.
"""

from __future__ import annotations

import math
import select
import time
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.screen.pty_program import PtyProgram

RATE = 30.0
"""Keys per second."""
LINE = 40
"""Keys after which the input is emptied."""
CLEAR = "\x15"
LATE_S = 20.0
"""Seconds that are waited for the last echoes."""
LETTERS = [
    chr(code)
    for code in (*range(0x100, 0x180), *range(0x391, 0x3CA), *range(0x400, 0x460), *range(0x10D0, 0x10F1))
    if unicodedata.category(chr(code)).startswith("L")
]


@dataclass
class Typist:
    """Types into one program. `again` is written each time after the input was emptied."""

    program: PtyProgram
    again: str = ""
    taken: list[float] = field(default_factory=list)
    """Seconds from each key to its echo; infinite without an echo."""
    _typed: int = 0
    _open: list[tuple[bytes, float]] = field(default_factory=list)
    _tail: bytes = b""

    def press(self) -> None:
        if self._typed % LINE == 0 and self._typed:
            self.program.write(CLEAR + self.again)
        letter = LETTERS[self._typed % len(LETTERS)]
        self._typed += 1
        self._open.append((letter.encode(), time.monotonic()))
        self.program.write(letter)

    def read(self) -> None:
        data = self._tail + self.program.read()
        now = time.monotonic()
        self._tail = data[-3:]
        last = max((at for at, (letter, _) in enumerate(self._open) if letter in data), default=-1)
        self.taken += [now - pressed for _, pressed in self._open[: last + 1]]
        del self._open[: last + 1]

    @property
    def is_waiting(self) -> bool:
        return bool(self._open)

    def give_up(self) -> None:
        self.taken += [math.inf] * len(self._open)
        self._open.clear()


def type_keys(typists: Sequence[Typist], count: int) -> None:
    """Has each of them type so many keys, by turns."""
    gap = 1 / RATE / len(typists)
    by_fd = {typist.program.fd: typist for typist in typists}
    due, pressed = time.monotonic() + gap, 0
    last = math.inf
    while pressed < count * len(typists) or (
        any(typist.is_waiting for typist in typists) and time.monotonic() < last + LATE_S
    ):
        now = time.monotonic()
        if pressed < count * len(typists) and now >= due:
            typists[pressed % len(typists)].press()
            pressed, due, last = pressed + 1, max(due + gap, now), now
        wait = max(0.0, due - time.monotonic()) if pressed < count * len(typists) else 1.0
        for fd in select.select([*by_fd], [], [], wait)[0]:
            by_fd[fd].read()
    for typist in typists:
        typist.give_up()
