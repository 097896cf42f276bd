"""Lists the sessions on this machine, with the facts of each.

A list reads whole files, but decodes few rows: the first prompt, the last totals, and the names of the session.
"""

from __future__ import annotations

import fcntl
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.sessions.load import TITLE_CHARACTERS, SessionError, session_descriptor
from agent.sessions.places import session_files
from agent.sessions.rows import Meta, Rename, read_row
from agent.sessions.torn_line import Lines
from agent.transcript import Message, Text
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.sessions.rows import Row

LOCKS = Path("/proc/locks")
_MESSAGE = re.compile(rb'\{"type":"message","message":\{"role":"(user|assistant|tool)","content":\[\{')
_USAGE = b'{"type":"usage",'


class SessionInfo(msgspec.Struct, frozen=True):
    """A session file in short."""

    path: Path
    id: str
    """A UUID; the file's name without its suffix if the file has no id."""
    cwd: str
    """The working folder; "" if unknown."""
    started: str
    """RFC 3339, from the file; "" if unknown."""
    modified: str
    """Time of the last write to the file: RFC 3339, UTC."""
    model: str
    provider: str
    title: str
    """The user's name for it, else the beginning of the first prompt; "" without a prompt."""
    messages: int
    """Message rows of the file, those before a compaction included."""
    usage: Totals
    """The use of the whole session."""
    parent: str
    """The id of the session that this one is a fork of; "" if it is none."""
    fork_point: int
    """The number of messages copied from the parent."""
    is_hidden: bool
    """Whether lists leave it out."""
    size_bytes: int
    in_use: bool
    """Whether a run has its lock."""


def list_sessions(home: Path, cwd: str | None, tell: Callable[[str], None] | None = None) -> list[SessionInfo]:
    """The sessions of a working folder (an absolute path), or with None of all, last written first.

    Hidden ones are included. A file that is no session or cannot be read is left out, and `tell` gets a line. A
    file that vanishes meanwhile is left out silently.
    """
    found = []
    locked = locked_inodes()
    for path in session_files(home, cwd, tell):
        try:
            found.append(_describe(path, locked))
        except SessionError as error:
            if tell is not None and os.path.lexists(path):
                tell(str(error))
    return found


def describe(path: Path) -> SessionInfo:
    """The facts of one file. Raises `SessionError` if it cannot be read or is no session."""
    return _describe(path, locked_inodes())


def _describe(path: Path, locked: frozenset[int] | None) -> SessionInfo:
    with session_descriptor(path) as fd:
        status = os.fstat(fd)
        glance = _Glance()
        for line in Lines(fd):
            if line.text is not None:
                glance.take(line.text)
        in_use = is_locked(fd, status.st_ino, locked)
    if not (glance.has_meta or glance.messages or glance.is_compacted):
        raise SessionError(f"{path}: no session: it has neither a `meta` row nor messages")
    meta = glance.meta
    return SessionInfo(
        path=path,
        id=meta.id or path.stem,
        cwd=meta.cwd,
        started=meta.started,
        modified=datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="milliseconds"),
        model=meta.model,
        provider=meta.provider,
        title=glance.title or meta.title or glance.first_prompt,
        messages=glance.messages,
        usage=glance.usage(),
        parent=meta.parent,
        fork_point=meta.fork_point,
        is_hidden=meta.hide_from_sessions,
        size_bytes=status.st_size,
        in_use=in_use,
    )


# --- locks --------------------------------------------------------------------------------------------------


def locked_inodes(listing: Path = LOCKS) -> frozenset[int] | None:
    """Inode numbers of all locked files; None if the system has no such list."""
    try:
        lines = listing.read_bytes().splitlines()
    except OSError:
        return None
    found = set()
    for line in lines:
        words = line.split()  # 1: FLOCK  ADVISORY  WRITE 3991 fe:00:2148684 0 EOF
        if b"FLOCK" in words and (place := next((word for word in words if word.count(b":") == 2), b"")):
            number = place.rpartition(b":")[2]
            if number.isdigit():
                found.add(int(number))
    return frozenset(found)


def is_locked(fd: int, inode: int, locked: frozenset[int] | None) -> bool:
    """Whether another descriptor has the lock. Takes the lock for a moment to find out, since a file of another file
    system can have the same inode number. Only a file in the list is tried: a run that takes its lock at that moment
    would fail."""
    if locked is not None and inode not in locked:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


# --- the facts ----------------------------------------------------------------------------------------------


class _Glance:
    """Takes lines, and decodes messages only until the first prompt. A row whose fields have another order, from other
    programs, is always decoded."""

    def __init__(self) -> None:
        self.meta = Meta()
        self.has_meta = False
        self.is_compacted = False
        self.messages = 0
        self.title = ""
        self.first_prompt = ""
        self._totals: list[bytes | Totals] = []

    def take(self, line: bytes) -> None:
        if line.startswith(_USAGE):
            self._totals.append(line)
        elif (found := _MESSAGE.match(line)) and line.endswith(b"}}") and (self.first_prompt or found[1] != b"user"):
            self.messages += 1
        elif line.startswith(b'{"type":"compaction",'):
            self.is_compacted = True
        else:
            self._take(read_row(line))

    def usage(self) -> Totals:
        """The last totals that can be read."""
        for last in reversed(self._totals):
            row = last if isinstance(last, Totals) else read_row(last)
            if isinstance(row, Totals):
                return row
        return Totals(0, 0, 0, 0, 0.0)

    def _take(self, row: Row) -> None:
        match row:
            case Message(role, content):
                self.messages += bool(content)
                if role == "user" and not self.first_prompt:
                    text = next((block.text for block in content if isinstance(block, Text)), "")
                    self.first_prompt = " ".join(text[:TITLE_CHARACTERS].split())
            case Totals():
                self._totals.append(row)
            case Meta():
                self.meta, self.has_meta = row, True
            case Rename(title):
                self.title = title
