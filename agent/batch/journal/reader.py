"""Reads a journal line by line, and tells a torn end from damage.

A batch that is killed, or a machine that loses its power, can leave the last commit in pieces: lines that are cut, NUL
bytes, missing lines. All that is the *torn tail*: none of it was told, and the next start moves it to `journal.torn`.
A bad line with lines after it that were written when it was on the disk already is damage: no crash leaves that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import msgspec

from agent.batch.journal.checkpoint import Checkpoint, read_checkpoint
from agent.batch.journal.errors import DamagedError, JournalError, NewerError
from agent.batch.journal.glance import GlancedLine, glance_decoder
from agent.batch.journal.rundir_files import LINE_LIMIT, open_rundir_file
from agent.batch.journal.state import BatchState
from supervisor.home.safe_files import sync, sync_folder, write_all
from wire.batch.journal_lines import JournalLineError, UnknownLineError, decode_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK = 1 << 20
"""Bytes read at once."""

AnyJournalLine = TypeVar("AnyJournalLine")


class TornTail(msgspec.Struct, frozen=True):
    """The bytes that a crash has left after the last good line."""

    line: int
    """Number of its first line, from 1."""
    offset: int
    """Where it begins, in bytes."""
    size: int
    """Bytes."""
    reason: str


class JournalReader(Generic[AnyJournalLine]):
    """Reads the lines of one file, once. Its memory does not grow with the file.

    Iterating gives each good line with the byte where it begins. It ends before the torn tail, if there is one, and
    raises `DamagedError`, `NewerError`, or `OSError`.
    """

    def __init__(
        self, path: Path, fd: int, decoder: msgspec.json.Decoder[AnyJournalLine], *, lines: int = 0, end: int = 0
    ) -> None:
        """Reads what follows the first `lines` lines, which end at the byte `end`, whatever the position of the
        descriptor is."""
        self._path = path
        self._fd = fd
        self._decoder: msgspec.json.Decoder[Any] = decoder
        self.lines = lines
        """Good lines so far; also the `seq` of the last one."""
        self.end = end
        """Where the last good line ends, in bytes."""
        self.torn: TornTail | None = None
        """Known after the iteration."""

    def __iter__(self) -> Iterator[tuple[AnyJournalLine, int]]:
        torn_offset, reason = -1, ""
        number, offset = self.lines, self.end
        decoder = self._decoder
        for text, size in self._texts():
            number += 1
            start, offset = offset, offset + size
            try:
                if size == len(text):
                    raise JournalLineError("it has no line feed at its end")
                line = decode_with(decoder, text)
            except JournalLineError as error:
                if torn_offset < 0:
                    torn_offset, reason, torn_line = start, str(error), number
                continue
            except UnknownLineError as error:
                self._refuse_unknown(number, error)
            if torn_offset < 0 and line.seq == self.lines + 1:
                self.lines, self.end = line.seq, offset
                yield line, start
                continue
            if torn_offset < 0:
                torn_offset, torn_line = start, number
                reason = f"its seq is {line.seq}, and that of the line before is {self.lines}"
            if line.seq <= self.lines or (line.commit or line.seq) > self.lines + 1:
                self._refuse_damage(torn_line, reason)
        if torn_offset >= 0:
            self.torn = TornTail(torn_line, torn_offset, offset - torn_offset, reason)

    def _texts(self) -> Iterator[tuple[bytes, int]]:
        """Each line without its LF, and its bytes in the file, LF included. One that is too long is empty."""
        pieces: list[bytes] = []
        kept, position = 0, self.end
        while chunk := os.pread(self._fd, CHUNK, position):
            position += len(chunk)
            first, *rest = chunk.split(b"\n")
            pieces.append(first)
            kept += len(first)
            if kept > LINE_LIMIT:
                pieces.clear()
            if not rest:
                continue
            yield b"".join(pieces), kept + 1
            last = rest.pop()
            for text in rest:
                yield text, len(text) + 1
            pieces, kept = [last], len(last)
        if kept:
            yield b"".join(pieces), kept

    def _refuse_unknown(self, number: int, error: UnknownLineError) -> NoReturn:
        raise NewerError(
            f"{self._path}, line {number}: this version of zot cannot read it: a newer one has written it "
            f"({error}); use that version, or begin a new batch in another folder"
        )

    def _refuse_damage(self, number: int, reason: str) -> NoReturn:
        raise DamagedError(
            f"{self._path}, line {number} is damaged: {reason}. Lines after it are good, so no crash has done this: "
            "the file was changed, or the disk has lost a part of it. Restore the file from a copy; or, to keep "
            f"only the lines before it: mv journal.jsonl journal.damaged && head -n {number - 1} journal.damaged "
            "> journal.jsonl",
            number,
        )


class JournalContents(msgspec.Struct, frozen=True):
    """A journal in short."""

    state: BatchState
    lines: int
    """Good lines; also the `seq` of the last one."""
    end: int
    """Where the last good line ends, in bytes."""
    torn: TornTail | None
    kept: int = 0
    """Bytes that its checkpoint has."""


def read_journal(path: Path, fd: int | None = None) -> JournalContents:
    """Folds the lines of a journal, without the texts; those that its checkpoint has are not decoded again. `fd` is an
    open descriptor of it, if there is one. A torn tail is left as it is: the writer may be at work. Raises
    `JournalError`, `FolderError`."""
    try:
        own = open_rundir_file(path) if fd is None else fd
        try:
            kept = read_checkpoint(path, own) or Checkpoint(BatchState(), 0, 0)
            reader = JournalReader[GlancedLine](path, own, glance_decoder, lines=kept.lines, end=kept.size)
            state = kept.state
            take = state.take
            for line, offset in reader:
                take(line, offset)
        finally:
            if fd is None:
                os.close(own)
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
    return JournalContents(state, reader.lines, reader.end, reader.torn, kept.size)


CHUNK = 1 << 20
"""Bytes copied at once."""


class TornMarker(msgspec.Struct, frozen=True):
    """The line before the bytes that were cut."""

    t: float
    """When: seconds since 1970."""
    line: int
    offset: int
    size: int
    """Bytes that follow."""
    reason: str


def move_torn_tail(journal: Path, fd: int, torn: TornTail, now: float) -> Path:
    """Appends the tail to `journal.torn` beside the journal, and cuts it off once it is safe there. Returns the path.
    Raises `FolderError`, `OSError`; the journal is then as it was."""
    path = journal.with_suffix(".torn")
    marker = TornMarker(t=now, line=torn.line, offset=torn.offset, size=torn.size, reason=torn.reason)
    aside = open_rundir_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        write_all(aside, msgspec.json.encode(marker) + b"\n")
        position = torn.offset
        while chunk := os.pread(fd, CHUNK, position):
            write_all(aside, chunk)
            position += len(chunk)
        write_all(aside, b"\n")
        sync(aside)
    finally:
        os.close(aside)
    sync_folder(journal.parent)
    os.ftruncate(fd, torn.offset)
    sync(fd)
    return path
