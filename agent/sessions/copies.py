"""Copies of session files: rows of one file, byte for byte, behind a new `meta` row, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.sessions.load import CHUNK, LINE_LIMIT, SessionError
from agent.sessions.rows import Meta, Rename, Row, Unreadable, read_row
from agent.transcript import Message, Text
from supervisor.home.zot_home import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import BinaryIO

LF = b"\n"


class Line(msgspec.Struct, frozen=True):
    """A row of a file, and where it is: `size` bytes from `start`, its LF included."""

    start: int
    size: int
    text: bytes
    """Its LF left out."""
    row: Row


class Source:
    """A session file to copy from, which another run may be writing to. Whole rows are read, and nothing else: blank
    lines, lines that are too long and a row that was cut off are left out. Raises `SessionError`."""

    def __init__(self, path: Path, *, size_limit: int | None = None) -> None:
        """`size_limit`: bytes; None for no limit."""
        self.path = path
        self.meta = Meta()
        """As the last `meta` row that was read says."""
        self._renamed = ""
        self.first_prompt = ""
        self.message_rows = 0
        """Those that were read so far."""
        self.has_meta = False
        self._ranges: list[tuple[int, int]] = []
        """Start and end of what is to be copied."""
        self._size_limit = size_limit
        self._file = self._open()

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _open(self) -> BinaryIO:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise self._unreadable(error) from None
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            raise self._unreadable(OSError(errno.EINVAL, "not a file"))
        if self._size_limit is not None and found.st_size > self._size_limit:
            os.close(fd)
            raise self._unreadable(OSError(errno.EFBIG, f"larger than {self._size_limit:,} bytes"))
        return open(fd, "rb")

    def _unreadable(self, error: OSError) -> SessionError:
        return SessionError(f"{self.path}: cannot be read: {error.strerror}")

    def lines(self) -> Iterator[Line]:
        """The rows, in their order. A message without content is none."""
        start = 0
        try:
            while text := self._file.readline(LINE_LIMIT):
                size = len(text)
                is_too_long = False
                while not text.endswith(LF) and (more := self._file.readline(LINE_LIMIT)):
                    is_too_long = True
                    size += len(more)
                    text = more[-1:]
                if not is_too_long and text.strip():
                    row = read_row(text.rstrip(LF))
                    if not (isinstance(row, Unreadable) and not text.endswith(LF)) and self._take(row):
                        yield Line(start, size, text.rstrip(LF), row)
                start += size
        except OSError as error:
            raise self._unreadable(error) from None

    def _take(self, row: Row) -> bool:
        """Notes what a row says. False for one that readers leave out."""
        match row:
            case Meta():
                self.meta, self.has_meta = row, True
            case Rename(title):
                self._renamed = title
            case Message(content=content):
                if not content:
                    return False
                self.message_rows += 1
                if not self.first_prompt and row.role == "user":
                    self.first_prompt = next((block.text for block in content if isinstance(block, Text)), "")
        return True

    @property
    def title(self) -> str:
        """As the user has named the session, if it was read so far."""
        return self._renamed or self.meta.title

    def require_session(self) -> None:
        """Raises `SessionError` if nothing that was read belongs to a session."""
        if not self.has_meta and not self.message_rows:
            raise SessionError(f"{self.path}: no session: it has neither a `meta` row nor messages")

    def keep(self, line: Line) -> None:
        """Has this row in the copy, behind those that were kept before."""
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
                    part = os.pread(self._file.fileno(), min(CHUNK, end - at), at)
                except OSError as error:
                    raise self._unreadable(error) from None
                if not part:
                    raise SessionError(f"{self.path}: it became shorter while it was read; try again")
                yield part
                at += len(part)
                last = part[-1:]
            if last != LF:
                yield LF


def write_file(target: Path, pieces: Iterable[bytes]) -> None:
    """Writes a sibling of `target` that is then renamed: whoever reads `target` finds all of it, or what was there
    before. Only the owner can read it. Folders that are missing are made. Raises `SessionError`."""
    if os.path.islink(target):
        target = Path(os.path.realpath(target))
    unfinished = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    try:
        if os.path.lexists(target) and not target.is_file():
            raise OSError(errno.EINVAL, "not a file")
        private_folder(target.parent)
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb", CHUNK) as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(fd)
            os.replace(unfinished, target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise SessionError(f"{target}: cannot be written: {error.strerror}") from None


def _sync_folder(folder: Path) -> None:
    """Has the new name on the disk. Some file systems cannot, and need not."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)
