"""The state of a journal, kept beside it, so that a start decodes only the lines that came later.

RUNDIR/journal.checkpoint has the state after the first `size` bytes of the journal, and the CRC-32 of these bytes. It
counts only if the journal still begins with them: each of their lines was checked when the state was made. Without a
checkpoint, and with one that is damaged or of another version, the whole journal is read: it takes longer.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import msgspec

from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import open_rundir_file
from agent.batch.journal.sent_batches import SentBatch
from agent.batch.journal.state import BatchState, TaskHistory
from agent.batch.reserve import Reserve
from supervisor.home.safe_files import replacement
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
"""Changes when the same lines make another state of the same fields."""
SHAPE = tuple(name for kind in (BatchState, TaskHistory, Reserve, SentBatch) for name in kind.__struct_fields__)
CHUNK = 1 << 18
"""Bytes read at once."""


class Header(msgspec.Struct, frozen=True):
    """The first line of the file; the state follows."""

    v: int
    shape: tuple[str, ...]
    """Names of the fields of the state, in their order."""
    size: int
    """Bytes of the journal that the state has."""
    crc: int
    """CRC-32 of these bytes."""
    state_crc: int
    """CRC-32 of what follows this line."""


class Checkpoint(msgspec.Struct, frozen=True):
    """A state to go on from."""

    state: BatchState
    size: int
    lines: int


class Prefix:
    """The first `size` bytes of a file: their CRC-32, and their lines."""

    def __init__(self) -> None:
        self.size = 0
        self.crc = 0
        self.lines = 0

    def grow(self, fd: int, size: int) -> bool:
        """Reads at most `CHUNK` bytes more. Returns False once there are `size` of them, or all that the file has."""
        if self.size >= size or not (chunk := os.pread(fd, min(CHUNK, size - self.size), self.size)):
            return False
        self.crc = zlib.crc32(chunk, self.crc)
        self.lines += chunk.count(b"\n")
        self.size += len(chunk)
        return True


_header = msgspec.json.Decoder(Header)
_state = msgspec.msgpack.Decoder(BatchState)


def checkpoint_file(journal: Path) -> Path:
    return journal.with_suffix(".checkpoint")


def read_checkpoint(journal: Path, fd: int) -> Checkpoint | None:
    """The checkpoint of the journal with this descriptor; None if there is none that fits. Raises `OSError` if the
    journal cannot be read."""
    try:
        with open(open_rundir_file(checkpoint_file(journal)), "rb") as file:
            size = os.fstat(fd).st_size
            text = file.read(size + CHUNK)  # it is never larger than its journal
    except (OSError, FolderError):
        return None
    first, _, rest = text.partition(b"\n")
    try:
        header = _header.decode(first)
    except UNREADABLE:
        return None
    if header.v != VERSION or header.shape != SHAPE or not 0 < header.size <= size:
        return None
    if zlib.crc32(rest) != header.state_crc:
        return None
    prefix = Prefix()
    while prefix.grow(fd, header.size):
        pass
    if (prefix.size, prefix.crc) != (header.size, header.crc):
        return None
    try:
        return Checkpoint(_state.decode(rest), prefix.size, prefix.lines)
    except UNREADABLE:
        return None


def write_checkpoint(journal: Path, state: BatchState, prefix: Prefix) -> None:
    """Writes the checkpoint after the bytes of `prefix`. Raises `OSError`."""
    kept = msgspec.msgpack.encode(state)
    header = Header(v=VERSION, shape=SHAPE, size=prefix.size, crc=prefix.crc, state_crc=zlib.crc32(kept))
    with replacement(checkpoint_file(journal), is_durable=False) as file:  # one that a crash damages does not count
        file.write(msgspec.json.encode(header) + b"\n")
        file.write(kept)
