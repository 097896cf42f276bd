"""Reads the key of `--api-key-file`: a flag shows in the list of processes, a file does not."""

from __future__ import annotations

import os
import select
import stat
import time

STDIN = "-"
"""The name for standard input."""
WAIT_S = 30.0
"""Maximum wait for the end of a pipe, in seconds."""
LIMIT = 64 * 1024
"""Maximum of the file in bytes."""
FOR_OTHERS = stat.S_IRGRP | stat.S_IROTH


class KeyFileError(ValueError):
    """The text names the file and the fault, and never has a part of the content."""


def display_path(path: str) -> str:
    """The name of the file in messages."""
    return "--api-key-file - (stdin)" if path == STDIN else f"--api-key-file {path}"


def read_key(path: str, *, name: str = "") -> tuple[str, str]:
    """The key in a file, or on stdin if `path` is `-`, without the white space around it; and a warning, "" if there is
    none. `name`: the name of the file in messages. Raises `KeyFileError`.

    A FIFO without a writer is an error after `WAIT_S`.
    """
    name = name or display_path(path)
    try:
        fd = 0 if path == STDIN else os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        if path.startswith("sk-"):
            raise KeyFileError(
                "--api-key-file: no such file, and what was given looks like a key, so it is not shown: name the file"
                " that holds it"
            ) from None
        raise KeyFileError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise KeyFileError(f"{name}: is a folder; name the file with the key")
        data = _read(fd, name)
    except OSError as error:
        raise KeyFileError(f"{name}: cannot be read: {error.strerror}") from None
    finally:
        if fd != 0:
            os.close(fd)
    if len(data) > LIMIT:
        raise KeyFileError(f"{name}: is larger than 64 KiB, which no key is")
    key = data.decode("utf-8", "surrogateescape").strip()
    if not key:
        raise KeyFileError(f"{name}: is empty")
    if len(key.splitlines()) > 1:
        raise KeyFileError(f"{name}: has more than one line; it must hold the key and nothing else")
    if path != STDIN and stat.S_ISREG(mode) and mode & FOR_OTHERS:
        return key, f"{name}: other users may read it; chmod 600 makes it yours alone"
    return key, ""


def _read(fd: int, name: str) -> bytes:
    """All bytes; of a larger file a little more than `LIMIT`."""
    deadline = time.monotonic() + WAIT_S
    pieces: list[bytes] = []
    size = 0
    while size <= LIMIT:
        left = max(0.0, deadline - time.monotonic())
        if not select.select([fd], [], [], left)[0]:
            raise KeyFileError(f"{name}: its end did not come within {WAIT_S:g} s; is there a program that writes it?")
        try:
            piece = os.read(fd, LIMIT + 1)
        except BlockingIOError:
            continue
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
