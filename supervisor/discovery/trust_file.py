"""Reads and writes `$ZOT_HOME/trust.json`. Several runs may do so at the same time: no change is lost."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.home.files import read_file, replace_file
from supervisor.home.zot_home import private_folder
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "trust.json"
VERSION = 1
FIELD = "extensions"
LOCK_S = 5.0
"""Seconds to wait for the lock. A writer holds it for milliseconds."""
POLL_S = 0.01

Rows = dict[str, dict[str, Any]]


class TrustError(Exception):
    """The trust file cannot be read or written. The text names the file and what to do."""


class TrustFile:
    """The file `$ZOT_HOME/trust.json`, as rows by folder."""

    def __init__(self, home: Path) -> None:
        self.path = home / NAME

    def read(self) -> Rows:
        """Returns the rows of the file. Raises `TrustError` if the file is damaged or cannot be read."""
        return self._rows(self._read())

    @contextmanager
    def changing(self) -> Iterator[Rows]:
        """Locks the file and gives its rows to the block. After the block all changes are written in one rename. Raises
        `TrustError` if that fails; the file then stays unchanged."""
        try:
            private_folder(self.path.parent)
            lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self._lock(lock)
            whole = self._read()
            rows = self._rows(whole)
            yield rows
            self._write({"version": VERSION, **whole, FIELD: rows})
        except OSError as error:
            raise self._unwritable(error) from None
        except UnicodeEncodeError:
            raise TrustError(f"{self.path}: a folder whose name is not UTF-8 cannot be recorded; rename it") from None
        finally:
            os.close(lock)

    def _lock(self, lock: int) -> None:
        deadline = time.monotonic() + LOCK_S
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TrustError(
                        f"{self.path} cannot be changed: another program has held {self.path}.lock for {LOCK_S:g} s;"
                        " try again when it has ended"
                    ) from None
                time.sleep(POLL_S)

    def _read(self) -> dict[str, Any]:
        try:
            whole = msgspec.json.decode(read_file(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise TrustError(f"{self.path} cannot be read: {error.strerror}; make it readable") from None
        except UNREADABLE as error:
            raise self._damaged(reason(error)) from None
        if not isinstance(whole, dict):
            raise self._damaged("not a JSON object")
        return whole

    def _rows(self, whole: dict[str, Any]) -> Rows:
        version = whole.get("version", VERSION)
        if version != VERSION:
            raise self._damaged(f"its version is {version!r}, known is {VERSION}")
        rows = whole.get(FIELD, {})
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            raise self._damaged(f"{FIELD} must be an object of objects")
        return rows

    def _damaged(self, why: str) -> TrustError:
        return TrustError(
            f"{self.path} is damaged, nothing is trusted: {why}; mend it, or remove it and trust again what you need"
        )

    def _unwritable(self, error: OSError) -> TrustError:
        return TrustError(f"{self.path} cannot be written: {error.strerror}; set ZOT_HOME to a folder of yours")

    def _write(self, whole: dict[str, Any]) -> None:
        target = Path(os.path.realpath(self.path))  # a symbolic link stays a link; its target is replaced
        replace_file(target, msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n", mode=0o600)
