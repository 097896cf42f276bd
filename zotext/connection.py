"""The two pipes to the host: one JSON object per line, each way."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import threading
import time

from .errors import print_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CHUNK = 65_536


def encode(frame: dict[str, Any]) -> bytes:
    """Encodes a frame as one line. Raises `TypeError` or `ValueError` if JSON cannot hold it."""
    text = json.dumps(frame, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"  # half a surrogate pair becomes a question mark


def decode(line: bytes) -> dict[str, Any]:
    """Decodes a frame, an object with a `type`. Raises `ValueError` that says what is wrong."""
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise ValueError("not an object with a type")
    return frame


class Connection:
    """Reads from one descriptor on one thread, writes whole lines to the other from any thread.

    `wake` ends the reading, from another thread or a signal handler. After the host's end, writes are dropped.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._gone = False
        self.woken = False
        self._awake, self.wake_fd = os.pipe()
        os.set_blocking(self.wake_fd, False)

    def send(self, frame: dict[str, Any]) -> None:
        """Sends a frame. Raises only `TypeError` or `ValueError`, if JSON cannot hold it. Drops a frame from a fork of
        this process: two processes would write into each other's lines."""
        line = memoryview(encode(frame))
        if os.getpid() != self._process:
            print_line(f"a fork of the extension cannot speak to the host: dropped a {frame['type']}")
            return
        with self._lock:
            while line and not self._gone:
                try:
                    line = line[os.write(self._writing, line) :]
                except BlockingIOError:  # the host has made the pipe non-blocking
                    select.select([], [self._writing], [])
                except OSError as error:
                    self._gone = True
                    if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                        print_line(f"the host cannot be written to: {error}")
                    self.wake()

    def send_within(self, frame: dict[str, Any], seconds: float) -> None:
        """Sends a short frame, or drops it if the host does not read within this time: a thread of a handler may be
        stuck in a write, which no signal ends."""
        line = encode(frame)
        deadline = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return
        try:
            left = max(0.0, deadline - time.monotonic())
            if not self._gone and select.select([], [self._writing], [], left)[1]:
                os.write(self._writing, line)  # a writable pipe takes a short line at once
        except OSError:
            self._gone = True
        finally:
            self._lock.release()

    def wake(self) -> None:
        try:
            os.write(self.wake_fd, b"\0")
        except OSError:
            pass  # the pipe is full: the reader is already woken

    @staticmethod
    def _ends(numbers: bytes) -> bool:
        """Whether one of these numbers ends the reading. `wake_fd` receives 0 from `wake`, and the number of every
        signal, even if only the extension's own code handles it."""
        return any(number in (0, signal.SIGTERM, signal.SIGINT) for number in numbers)

    def is_woken(self) -> bool:
        """Whether `wake` was called, or SIGTERM or SIGINT came, since the last call."""
        readable, _, _ = select.select([self._awake], [], [], 0)
        return bool(readable) and self._ends(os.read(self._awake, CHUNK))

    def lines(self) -> Iterator[bytes]:
        """Yields the host's non-empty lines without line feeds, until the host closes its end or `wake` is called."""
        parts: list[bytes] = []
        while True:
            readable, _, _ = select.select([self._reading, self._awake], [], [])
            if self._awake in readable and self._ends(os.read(self._awake, CHUNK)):
                self.woken = True
                return
            if self._reading not in readable:
                continue
            try:
                chunk = os.read(self._reading, CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            first, *more = chunk.split(b"\n")
            parts.append(first)
            if more or not chunk:
                yield from filter(bytes.strip, (b"".join(parts), *more[:-1]))
                parts = more[-1:]
            if not chunk:
                return
