"""Reads the bytes of a tasks file, or of stdin. The only I/O of reading tasks."""

from __future__ import annotations

import os
import stat
from typing import IO

from agent.batch.tasks.faults import TasksError
from wire.text import valid_text

STDIN = "-"
SIZE_LIMIT = 1024 * 1024 * 1024
"""Bytes of all tasks together. They are in memory for as long as the batch runs."""
CHUNK = 1024 * 1024
"""Bytes."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MARK = b"\xef\xbb\xbf"
"""A byte order mark, which spreadsheets put before UTF-8. It has no meaning."""


def read_source(source: str, stdin: IO[bytes]) -> tuple[str, bytes]:
    """The name of the source for messages, and its content without a byte order mark. Waits for the end of a pipe.
    Raises `TasksError`."""
    if source == STDIN:
        if stdin.isatty():
            raise TasksError(["-: stdin is a terminal: pipe the tasks in, or name their file"])
        return "stdin", _content("stdin", stdin)
    name = valid_text(source)
    try:
        mode = os.stat(source).st_mode
        if stat.S_ISDIR(mode):
            raise TasksError([f"{name}: it is a folder; name a file with tasks"])
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise TasksError([f"{name}: it is neither a file nor a pipe"])
        with open(source, "rb") as file:
            return name, _content(name, file)
    except FileNotFoundError:
        raise TasksError([f"{name}: no such file"]) from None
    except OSError as error:
        raise TasksError([f"{name}: cannot be read: {error.strerror}"]) from None
    except ValueError as error:
        if isinstance(error, TasksError):
            raise
        raise TasksError([f"{name!r}: cannot be read: {error}"]) from None


def _content(name: str, file: IO[bytes]) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > SIZE_LIMIT:
            raise TasksError([f"{name}: it is larger than {SIZE_LIMIT >> 20:,} MiB: split it, and run its parts"])
    content = b"".join(chunks)
    if content.startswith(UTF_16):
        raise TasksError([f"{name}:1: it is UTF-16: save it as UTF-8"])
    content = content.removeprefix(MARK)
    if not content.strip():
        raise TasksError([f"{name}: it is empty: there is no task"])
    return content
