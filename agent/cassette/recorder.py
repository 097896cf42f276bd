"""Writes a cassette during a run. An interrupted run leaves its complete exchanges."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import orjson

from agent.cassette.errors import CassetteError
from agent.cassette.placeholders import PlaceholderNames
from agent.cassette.player import VERSION
from supervisor.home.safe_files import write_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class CassetteRecorder:
    """Starts a new cassette at `path`. Only the owner can read it, as it has the whole conversation.

    The first complete exchange replaces an older cassette at `path`; a run that fails before that keeps it. Raises
    CassetteError for a directory, a file that cannot be written, and a file that is not a cassette.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        cwd: str,
        home: str | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self._path = os.fspath(path)
        self._cwd = cwd
        self._home = home
        self._places = places
        self._fd = -1
        _check_replaceable(self._path)
        try:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CassetteError(f"cannot write cassette {self._path}: {error.strerror}") from error
        self._replaces = os.fstat(self._fd).st_size > 0
        if not self._replaces:
            self._append({"type": "cassette", "version": VERSION})

    def add(self, params: Mapping[str, Any], reply: Sequence[Mapping[str, Any]]) -> None:
        """Appends one exchange: the request, and all lines of the reply without their ids.

        Raises CassetteError when the file cannot be written (a full disk).
        """
        names = PlaceholderNames.of(params, cwd=self._cwd, home=self._home, places=self._places)
        lines = [{key: value for key, value in line.items() if key != "id"} for line in names.recorded(reply)]
        if self._replaces:
            self._replaces = False
            os.ftruncate(self._fd, 0)
            self._append({"type": "cassette", "version": VERSION})
        self._append({"type": "exchange", "request": names.request(params), "reply": lines})

    def close(self) -> None:
        """Closes the file. A second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> CassetteRecorder:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _append(self, record: Mapping[str, Any]) -> None:
        data = memoryview(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        try:
            write_all(self._fd, data)
        except OSError as error:
            self.close()
            raise CassetteError(f"cannot write cassette {self._path}: {error.strerror}") from error


def _check_replaceable(path: str) -> None:
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise CassetteError(f"cannot write cassette {path}: it is a directory")
        if not stat.S_ISREG(status.st_mode):
            raise CassetteError(f"cannot write cassette {path}: it is not a regular file")
        if status.st_size:
            with open(path, "rb") as file:
                start = file.readline(200)
            if not _is_header(start):
                raise CassetteError(
                    f"cannot write cassette {path}: there is a file that is not a cassette; remove it first"
                )
    except FileNotFoundError:
        pass
    except OSError as error:
        raise CassetteError(f"cannot write cassette {path}: {error.strerror}") from error


def _is_header(line: bytes) -> bool:
    try:
        header = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(header, dict) and header.get("type") == "cassette"
