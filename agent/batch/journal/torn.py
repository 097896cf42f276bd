"""Cuts a torn tail off a journal. Its bytes are kept in `journal.torn`, after a line that says where they were."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from agent.batch.journal.own_files import open_own
from supervisor.home.files import sync, sync_folder, write_all

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.journal.reader import TornTail

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


def cut_aside(journal: Path, fd: int, torn: TornTail, now: float) -> Path:
    """Appends the tail to `journal.torn` beside the journal, and cuts it off once it is safe there. Returns the path.
    Raises `FolderError`, `OSError`; the journal is then as it was."""
    path = journal.with_suffix(".torn")
    marker = TornMarker(t=now, line=torn.line, offset=torn.offset, size=torn.size, reason=torn.reason)
    aside = open_own(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
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
