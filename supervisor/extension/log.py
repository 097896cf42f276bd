"""The log file of one extension: its stderr, its `log` frames, and lines of the host, which begin with `[zot]`."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from wire.text import _BREAKS, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

LOG_LIMIT = 1024 * 1024
"""Bytes of one file before it is rotated."""
LOGS_KEPT = 5
"""Most files of one extension: `ext-NAME.log`, `.log.1` … `.log.4`."""
SMALLEST_LOG = 4096
"""Bytes: a smaller file is not rotated."""
LINES_REMEMBERED = 20
LINE_SHOWN = 200
"""Most characters of a line of stderr in a message."""
LINE_LIMIT = 1000
"""Most characters of a line of the host. Many of these lines quote the extension."""
FRAME_LINE_LIMIT = 4000
"""Most characters of a line from a `log` frame."""
LEVELS = frozenset({"debug", "info", "warn", "error"})


class ExtensionLog:
    """Appends to `FOLDER/ext-NAME.log`, mode 0600. Keeps at most `LOGS_KEPT` files, of `total` bytes together.

    If the log cannot be written (disk full, read-only home), everything else goes on. `error` then says why, `on_error`
    gets this reason once, and the last lines of stderr are still remembered for error messages.
    """

    def __init__(self, folder: Path, name: str, total: int = LOGS_KEPT * LOG_LIMIT) -> None:
        self._limit = max(total // LOGS_KEPT, SMALLEST_LOG)
        self.path = folder / f"ext-{name}.log"
        self.error: str | None = None
        self.on_error: Callable[[str], None] | None = None
        self._fd = -1
        self._size = 0
        self._last: deque[bytes] = deque(maxlen=LINES_REMEMBERED)  # decoded only when shown
        self._partial = b""
        self._open()

    def write(self, data: bytes) -> None:
        """Appends a piece of the extension's stderr. The piece may end within a line."""
        *whole, self._partial = (self._partial + data[-4 * LOG_LIMIT :]).split(b"\n")
        self._partial = self._partial[-4096:]
        self._last.extend(line[: 4 * LINE_SHOWN] for line in whole[-LINES_REMEMBERED:])
        self._append(data)

    def add(self, text: str) -> None:
        """Appends a line of the host."""
        self._append(f"[zot] {one_line(text, LINE_LIMIT)}\n".encode())

    def add_frame(self, level: str, message: str, fields: Mapping[str, object] | None = None) -> None:
        """Appends a line that the extension sent as a `log` frame."""
        said = " ".join([message, *(f"{name}={_value(value)}" for name, value in (fields or {}).items())])
        shown = level if level in LEVELS else "info"
        self._append(f"[{shown}] {one_line(said, FRAME_LINE_LIMIT)}\n".encode("utf-8", "replace"))

    def last_line(self) -> str:
        """The last line of the extension's stderr; empty if there is none."""
        return next((text for line in (self._partial, *reversed(self._last)) if (text := _shown(line))), "")

    def last_lines(self) -> list[str]:
        """The last whole lines of the extension's stderr, `LINES_REMEMBERED` at most."""
        return [text for line in self._last if (text := _shown(line))]

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            try:
                self._fd = os.open(self.path, flags, 0o600)
            except FileNotFoundError:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._fd = os.open(self.path, flags, 0o600)
            self._size = os.fstat(self._fd).st_size
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        is_first = self.error is None
        self.error = f"cannot write {self.path}: {error.strerror}"
        if is_first and self.on_error is not None:
            self.on_error(self.error)

    def _append(self, data: bytes) -> None:
        for start in range(0, len(data), self._limit):
            piece = data[start : start + self._limit]
            if self._fd < 0:
                return
            if self._size and self._size + len(piece) > self._limit:
                self._rotate()
            try:
                self._size += os.write(self._fd, piece)
            except OSError as error:
                self._fail(error)
                self.close()

    def _rotate(self) -> None:
        """Renames the files and opens a new one. Another host may have rotated the shared file already: then our
        descriptor is not the file at the path, and nothing is renamed."""
        try:
            ours = os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            ours = False
        self.close()
        if ours:
            names = [self.path, *(self.path.with_name(f"{self.path.name}.{n}") for n in range(1, LOGS_KEPT))]
            for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
                try:
                    os.replace(newer, older)
                except OSError:
                    pass
        self._open()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _value(value: object) -> str:
    """Returns a text without white space and quotes as it is, any other value as JSON."""
    if isinstance(value, str) and value and not _BREAKS.search(value) and '"' not in value:
        return value
    return msgspec.json.encode(value).decode()


def _shown(line: bytes) -> str:
    return one_line(line[: 4 * LINE_SHOWN].decode("utf-8", "replace"), LINE_SHOWN)
