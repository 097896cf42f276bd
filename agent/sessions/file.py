"""Writes a session file: each row is on disk (fsync) before the run goes on, and a lock marks the file as in use.

Better than zot's on purpose: no empty file is made, only the owner can read it, and a hash of the working folder's
absolute path names its folder. `agent.sessions.rows` has the format.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.sessions import rows
from agent.sessions.load import SessionError, load_from
from agent.sessions.places import folder_of
from supervisor.home.zot_home import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agent.sessions.load import Loaded
    from agent.sessions.rows import Meta
    from agent.transcript import Message
    from wire.events import Totals


class SessionBusyError(SessionError):
    """Another run writes to the session."""


class SessionFile:
    """A session that is being written. A write error is kept in `error` and ends the writing, but not the run."""

    def __init__(self, path: Path, meta: Meta, fd: int = -1) -> None:
        """With `fd`, an open descriptor that has the lock; else the first message creates the file."""
        self.path = path
        self.meta = meta
        self.error: str | None = None
        self._fd = fd

    @classmethod
    def new(cls, home: Path, meta: Meta) -> SessionFile:
        """A session of the folder `meta.cwd`, which begins now; it gets an id."""
        started = datetime.now(UTC)
        meta = replace(meta, id=str(uuid.uuid4()), started=started.isoformat())
        return cls(folder_of(home, meta.cwd) / f"{started:%Y%m%d-%H%M%S}-{meta.id[:8]}.jsonl", meta)

    @classmethod
    def reopen(cls, path: Path) -> tuple[SessionFile, Loaded]:
        """Goes on with a session: takes the lock, reads the file, and ends a line that was cut off. Raises
        `SessionBusyError` if another run has the lock, and `SessionError`."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise SessionError(f"{path}: cannot be opened: {error.strerror}") from None
        try:
            _lock(fd, path)
            loaded = load_from(fd, path)
            if not loaded.ends_in_line:
                os.write(fd, b"\n")
        except OSError as error:
            os.close(fd)
            raise SessionError(f"{path}: cannot be written: {error.strerror}") from None
        except BaseException:
            os.close(fd)
            raise
        return cls(path, loaded.meta, fd), loaded

    @property
    def id(self) -> str:
        return self.meta.id

    @property
    def is_on_disk(self) -> bool:
        """Whether there is a file: the first message makes it."""
        return self._fd >= 0

    def message(self, message: Message) -> None:
        """Writes a message to the disk before it returns. A message without content is left out."""
        if line := rows.message_line(message):
            self._append(line)

    def usage(self, cumulative: Totals) -> None:
        """Writes the running totals."""
        if self.is_on_disk:
            self._append(rows.usage_line(cumulative))

    def compaction(self, messages: Iterable[Message]) -> None:
        """Writes that these messages take the place of all before."""
        self._append(rows.compaction_line(messages))

    def model(self, provider: str, model: str) -> None:
        """Writes that another model is asked from now on."""
        if (provider, model) == (self.meta.provider, self.meta.model):
            return
        self.meta = replace(self.meta, provider=provider, model=model)
        if self.is_on_disk:
            self._append(rows.meta_line(self.meta))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, line: bytes) -> None:
        if self.error is not None:
            return
        try:
            if self._fd < 0:
                self._create()
            self._write(line)
            os.fsync(self._fd)
        except OSError as error:
            self.error = f"the session is not recorded any further: {self.path}: {error.strerror}"
            self.close()

    def _create(self) -> None:
        private_folder(self.path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._write(rows.meta_line(self.meta))

    def _write(self, line: bytes) -> None:
        """Writes the whole line or nothing: half a line would be lost to readers."""
        size = os.fstat(self._fd).st_size
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError:
            os.ftruncate(self._fd, size)
            raise


def _lock(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SessionBusyError(
            f"{path}: another run goes on with this session; wait for its end, or go on with a copy (--fork)"
        ) from None
