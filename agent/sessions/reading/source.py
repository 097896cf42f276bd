"""Reads a session file for a copy of it: chooses rows and copies their bytes."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from agent.sessions.load import SessionError, load_from, read_failure
from agent.sessions.rows import Compaction, Meta, Rename, Row, Unreadable
from agent.sessions.torn_line import CHUNK, Line, Lines
from agent.transcript import Message, Text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from agent.sessions.load import LoadedSession

LF = b"\n"


class SessionSource:
    """A session file to copy from; another run may be writing to it. Reads whole rows only: blank lines, too long lines
    and a torn last row are left out. Raises `SessionError`."""

    def __init__(self, path: Path, *, size_limit: int | None = None) -> None:
        """`size_limit`: bytes; None for no limit."""
        self.path = path
        self.meta = Meta()
        """The last `meta` row that was read."""
        self._renamed = ""
        self.first_prompt = ""
        self.message_rows = 0
        """The number of messages read so far."""
        self.has_messages = False
        """Whether any message was read, also in a compaction."""
        self._has_meta = False
        self._ranges: list[tuple[int, int]] = []
        """Start and end offsets of the parts to copy."""
        self._size_limit = size_limit
        self._size = 0
        """The number of bytes read."""
        self._fd = self._open()

    def __enter__(self) -> SessionSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _open(self) -> int:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise read_failure(self.path, error) from None
        if self._size_limit is not None and os.fstat(fd).st_size > self._size_limit:
            os.close(fd)
            raise read_failure(self.path, OSError(errno.EFBIG, f"larger than {self._size_limit:,} bytes"))
        return fd

    def lines(self) -> Iterator[tuple[Line, Row]]:
        """The lines with their rows, in order, without messages that have no content."""
        try:
            lines = Lines(self._fd)
            for line in lines:
                row = line.row
                is_cut = isinstance(row, Unreadable) and (line.is_torn or line.text is None)
                if not is_cut and self._take(row):
                    yield line, row
            self._size = lines.size
        except OSError as error:
            raise read_failure(self.path, error) from None

    def _take(self, row: Row) -> bool:
        """Notes the facts of a row. Returns False for a row that readers leave out."""
        match row:
            case Meta():
                self.meta, self._has_meta = row, True
            case Rename(title):
                self._renamed = title
            case Compaction(messages):
                self.has_messages = self.has_messages or any(message.content for message in messages)
            case Message(content=content):
                if not content:
                    return False
                self.message_rows += 1
                self.has_messages = True
                if not self.first_prompt and row.role == "user":
                    self.first_prompt = next((block.text for block in content if isinstance(block, Text)), "")
        return True

    @property
    def title(self) -> str:
        """The title from the rows that were read so far."""
        return self._renamed or self.meta.title

    def require_session(self) -> None:
        """Raises `SessionError` if no row of a session was read."""
        if not self._has_meta and not self.has_messages:
            raise SessionError(f"{self.path}: no session: it has neither a `meta` row nor messages")

    def load(self) -> LoadedSession:
        """The session as it was at the end of `lines`. Raises `SessionError`."""
        os.lseek(self._fd, 0, os.SEEK_SET)
        return load_from(self._fd, self.path, limit=self._size)

    def keep(self, line: Line) -> None:
        """Adds this row to the end of the copy."""
        end = line.start + line.size
        if self._ranges and self._ranges[-1][1] == line.start:
            self._ranges[-1] = (self._ranges[-1][0], end)
        else:
            self._ranges.append((line.start, end))

    def kept(self) -> Iterator[bytes]:
        """The kept rows, in pieces; the last one ends in LF."""
        for start, end in self._ranges:
            at = start
            last = LF
            while at < end:
                try:
                    part = os.pread(self._fd, min(CHUNK, end - at), at)
                except OSError as error:
                    raise read_failure(self.path, error) from None
                if not part:
                    raise SessionError(f"{self.path}: it became shorter while it was read; try again")
                yield part
                at += len(part)
                last = part[-1:]
            if last != LF:
                yield LF
