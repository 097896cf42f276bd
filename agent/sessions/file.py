"""Writes a session file: each message is on disk (fsync) before the run goes on, and a lock marks the file as in use.

Better than zot on purpose: no empty file is made, only the owner can read it, and its folder is named by a hash of the
working folder's absolute path. `agent.sessions.rows` has the format.
"""

from __future__ import annotations

import errno
import fcntl
import os
import uuid
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.sessions import rows
from agent.sessions.load import SessionError, load_from
from agent.sessions.places import folder_of, unfinished_path
from agent.sessions.rows import Meta
from supervisor.home.safe_files import replacement, sync_folder
from supervisor.home.zot_home import private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from agent.sessions.load import LoadedSession
    from agent.sessions.reading.source import SessionSource
    from agent.transcript import Message
    from wire.events import Totals

NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
"""Errors of file systems without locks. There a second run is not noticed."""
ATTEMPTS = 4
"""Maximum of tries to create a file that has the lock."""


class SessionBusyError(SessionError):
    """Another run writes to the session."""


class FileState(Enum):
    """The state of a `SessionFile`."""

    NEW = "new"
    """There is no file yet: the first message makes it."""
    OPEN = "open"
    CLOSED = "closed"
    """Nothing more is written: the file was closed, or could not be written."""


class SessionFile:
    """A session that is being written. A write error ends the writing, but not the run: `error` has its text, and
    `on_error` gets it once. The file then ends with the last whole row."""

    def __init__(self, path: Path, meta: Meta, fd: int = -1) -> None:
        """`fd`: an open descriptor that has the lock; -1: the first message creates the file."""
        self.path = path
        self.meta = meta
        self.error: str | None = None
        self.on_error: Callable[[str], None] = lambda _text: None
        self._fd = fd
        self._state = FileState.NEW if fd < 0 else FileState.OPEN
        self._size = 0
        """Bytes of the file after the last read or write."""
        self._ends_in_line = True
        self._is_meta_new = False
        """Whether `meta` has changed since it was written: the next message writes it first."""
        self._source: SessionSource | None = None
        """Another session, whose kept rows this one begins with."""

    @classmethod
    def new(cls, home: Path, meta: Meta, source: SessionSource | None = None) -> SessionFile:
        """A session of the folder `meta.cwd` that begins now and gets an id. With `source` it begins with the kept rows
        of that session; `source` is closed with the new file."""
        started = datetime.now(UTC)
        meta = replace(meta, id=str(uuid.uuid4()), started=started.isoformat())
        file = cls(folder_of(home, meta.cwd) / f"{started:%Y%m%d-%H%M%S}-{meta.id[:8]}.jsonl", meta)
        file._source = source
        return file

    @classmethod
    def reopen(cls, path: Path) -> tuple[SessionFile, LoadedSession]:
        """Resumes a session: takes the lock, then reads the file. Nothing is written before the next message.
        Raises `SessionBusyError` if another run has the lock, and `SessionError`."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise SessionError(f"{path}: there is no such file; zot session list names the sessions") from None
        except OSError as error:
            refused = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            hint = "; resume a copy (--fork)" if refused else ""
            raise SessionError(f"{path}: cannot be opened for writing: {error.strerror}{hint}") from None
        try:
            _lock(fd, path)
            loaded = load_from(fd, path)
            if not os.fstat(fd).st_nlink:
                raise SessionError(f"{path}: it was removed just now")
        except BaseException:
            os.close(fd)
            raise
        file = cls(path, loaded.meta, fd)
        file._ends_in_line = loaded.ends_in_line
        file._size = os.fstat(fd).st_size
        return file, loaded

    @property
    def id(self) -> str:
        return self.meta.id

    @property
    def is_on_disk(self) -> bool:
        """Whether the file exists; the first message creates it."""
        return self._state is FileState.OPEN

    def create(self) -> Path:
        """Creates the file now, without waiting for a message, and returns its path. Raises `SessionError`."""
        try:
            self._create(b"")
        except OSError as error:
            raise SessionError(f"{self.path}: cannot be written: {error.strerror}") from None
        return self.path

    def settle(self) -> None:
        """Creates the file of a copy that has no message of its own so far. Raises `SessionError`."""
        if self._state is FileState.NEW and self._source is not None:
            self.create()

    def message(self, message: Message) -> None:
        """Writes a message to the disk before it returns. A message without content is left out."""
        if line := rows.message_line(message):
            self._append(line)

    def usage(self, cumulative: Totals) -> None:
        """Writes the running totals. They are on disk (fsync) with the next message or after `close`."""
        if self._state is FileState.OPEN:
            self._append(rows.usage_line(cumulative), is_safe=False)

    def compaction(self, messages: Iterable[Message]) -> None:
        """Writes that these messages replace all earlier ones."""
        self._append(rows.compaction_line(messages))

    def summary(self, text: str) -> None:
        """Writes a summary of the session. Does nothing without a file."""
        if self._state is FileState.OPEN:
            self._append(rows.summary_line(text))

    def rename(self, title: str) -> None:
        """Gives the session a name."""
        if self._state is FileState.OPEN:
            self._append(rows.rename_line(title))
        else:
            self.meta = replace(self.meta, title=title)

    def begun_by(self, version: str) -> None:
        """Notes the version of the program, unless the file exists."""
        if self._state is FileState.NEW:
            self.meta = replace(self.meta, version=version)

    def model(self, provider: str, model: str) -> None:
        """Notes the model of the next requests; written with the next message."""
        if (provider, model) == (self.meta.provider, self.meta.model):
            return
        self.meta = replace(self.meta, provider=provider, model=model)
        self._is_meta_new = self._state is FileState.OPEN

    def close(self) -> None:
        """Ends the writing and releases the lock."""
        if self._fd >= 0:
            try:
                os.fsync(self._fd)
            except OSError:
                pass  # each message is on disk already
            os.close(self._fd)
        if self._source is not None:
            self._source.close()
        self._fd = -1
        self._state = FileState.CLOSED

    def _append(self, line: bytes, *, is_safe: bool = True) -> None:
        if self._state is FileState.CLOSED:
            return
        try:
            if self._state is FileState.NEW:
                self._create(line)
                return
            self._write(self._due_bytes() + line)
            if is_safe:
                os.fsync(self._fd)
            if not os.fstat(self._fd).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "the file was removed or replaced")
        except (OSError, SessionError) as error:
            why = f"{self.path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            self.error = f"the session is no longer recorded: {why}"
            self.close()
            self.on_error(self.error)

    def _due_bytes(self) -> bytes:
        """The bytes that are due before the next row."""
        begin = b"" if self._ends_in_line else b"\n"
        meta = rows.meta_line(self.meta) if self._is_meta_new else b""
        self._ends_in_line, self._is_meta_new = True, False
        return begin + meta

    def _create(self, line: bytes) -> None:
        """Creates the file, which ends with this line, under another name and renames it: readers find all of it or no
        file. Raises `OSError` and `SessionError`."""
        folder = self.path.parent
        is_first = not folder.is_dir()
        private_folder(folder)
        self._fd, temporary = _begin_file(self.path)
        try:
            self._write(rows.meta_line(self.meta))
            for piece in () if self._source is None else self._source.kept():
                self._write(piece)
            self._write(line)
            os.fsync(self._fd)
            os.rename(temporary, self.path)
        except BaseException:
            os.unlink(temporary)
            os.close(self._fd)
            self._fd = -1
            raise
        self._state = FileState.OPEN
        sync_folder(folder)
        if is_first:
            sync_folder(folder.parent)

    def _write(self, line: bytes) -> None:
        """Writes the whole line or nothing: half a line would be lost to readers. Fails for a file that became shorter:
        the rest would continue another conversation."""
        size = os.fstat(self._fd).st_size
        if size < self._size:
            raise OSError(errno.EIO, "the file became shorter: something else has cut it off")
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError:
            os.ftruncate(self._fd, size)
            raise
        self._size = os.fstat(self._fd).st_size


def append_summary(path: Path, text: str) -> None:
    """Writes a summary into a session that is not in use. Raises `SessionBusyError` and `SessionError`."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SessionError(f"{path}: cannot be opened for writing: {error.strerror}") from None
    file = SessionFile(path, Meta(), fd)
    try:
        _lock(fd, path)
        file._size = os.fstat(fd).st_size
        file._ends_in_line = not file._size or os.pread(fd, 1, file._size - 1) == b"\n"
        file.summary(text)
    finally:
        file.close()
    if file.error is not None:
        raise SessionError(file.error)


def write_file(target: Path, pieces: Iterable[bytes]) -> None:
    """Writes a sibling of `target` and renames it: readers of `target` find all of it, or the old file. Only the owner
    can read it. Makes missing folders. Raises `SessionError`."""
    if os.path.islink(target):
        target = target.resolve()
    try:
        if os.path.lexists(target) and not target.is_file():
            raise OSError(errno.EINVAL, "not a file")
        private_folder(target.parent)
        with replacement(target, sibling=unfinished_path(target)) as file:
            file.writelines(pieces)
    except OSError as error:
        raise SessionError(f"{target}: cannot be written: {error.strerror}") from None


def _begin_file(path: Path) -> tuple[int, Path]:
    """A new file that has the lock, and its unfinished name. If a cleanup of leftovers holds the lock for a moment,
    another file is tried. Raises `OSError` and `SessionError`."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    for left in reversed(range(ATTEMPTS)):
        temporary = unfinished_path(path)
        fd = os.open(temporary, flags, 0o600)
        try:
            _lock(fd, path)
        except SessionError as error:
            os.close(fd)
            temporary.unlink(missing_ok=True)
            if not left or not isinstance(error, SessionBusyError):
                raise
        else:
            return fd, temporary
    raise AssertionError


def _lock(fd: int, path: Path) -> None:
    """Takes the lock; does nothing on a file system without locks. Raises `SessionBusyError`."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SessionBusyError(
            f"{path}: another run uses this session; wait for its end, or resume a copy (--fork)"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise SessionError(f"{path}: cannot be locked: {error.strerror}") from None
