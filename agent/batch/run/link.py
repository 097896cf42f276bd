"""The run's end of the link to its batch: reads and writes lines, on whichever loop the run has at the moment."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from supervisor.loop.outbox import Outbox
from wire.batch import link as messages
from wire.exit_codes import Status
from wire.framing import LineSplitter, Oversize

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one line. The longest from the batch has a whole reply, of which each character may take six bytes."""
READ_BYTES = 64 * 1024
WRITE_BYTES = 1024 * 1024
"""At a time."""
SPANS_WAITING = 4 * 1024 * 1024
"""Bytes that wait for the batch from which spans are dropped."""


class LinkError(Exception):
    """The batch has said something that no batch says, or nothing at all; the text says what."""


class BatchLink:
    """Owns the descriptor `fd`. First `begin`; then `attach` to each loop in turn, with `detach` before the next one;
    `close` at the end. Lines that come while no loop has the link wait."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop: Loop | None = None
        self._splitter = LineSplitter(LINE_LIMIT)
        self._waiting: deque[bytes] = deque()
        self._outbox = Outbox()
        self._is_paused = False
        self.abort: messages.Abort | None = None
        """Why the batch wants the run to end, once it has said so."""
        self.interruption: messages.Abort | None = None
        """The same, if the batch itself stops; it may come after the end of the run's time."""
        self.is_lost = False
        """Whether the batch has gone, or says what cannot be understood."""
        self.on_end: Callable[[], None] = _nothing
        """Called when the batch wants the run to end, and when `is_lost` is set."""
        self.on_line: Callable[[dict[str, Any]], None] = _ignore
        """Gets each line of a model worker."""

    def begin(self) -> messages.Begin:
        """Waits for the first line of the batch. Raises `LinkError`."""
        while not self._waiting:
            data = os.read(self._fd, READ_BYTES)
            if not data:
                raise LinkError("the batch ended before it sent a task")
            self._split(data)
        try:
            message = messages.decode_from_batch(self._waiting.popleft())
        except msgspec.DecodeError as error:
            raise LinkError(f"the first line of the batch cannot be read: {error}") from None
        if not isinstance(message, messages.Begin):
            raise LinkError("the first line of the batch is not a task")
        return message

    def attach(self, loop: Loop) -> None:
        """Reads and writes in the passes of this loop."""
        os.set_blocking(self._fd, False)
        self._loop = loop
        self._watch()
        loop.call_later(0, self._deliver)

    def detach(self) -> None:
        """Leaves the loop, which may then be closed."""
        if self._loop is not None:
            self._loop.watch(self)
            self._loop = None

    # --- to the batch ---------------------------------------------------------------------------------------

    def send(self, message: messages.FromRun) -> None:
        """Sends the message, or queues what the batch does not take at once. Does nothing once the batch has gone."""
        self._send(messages.encode(message))

    def send_spans(self, line: bytes) -> None:
        """Sends a line with spans, see `wire.traces.span`. It is dropped while `SPANS_WAITING` bytes wait."""
        if self._outbox.queued < SPANS_WAITING:
            self._send(line)

    def _send(self, line: bytes) -> None:
        if self.is_lost:
            return
        self._outbox.append(line)
        if self._loop is not None:
            self.on_writable()
        else:
            self._flush_all()

    def _flush_all(self) -> None:
        """Waits until the batch has taken everything, or has gone."""
        os.set_blocking(self._fd, True)
        try:
            self._outbox.flush(self._write)
        except OSError:
            self._lose()

    def close(self) -> None:
        """Waits until the batch has taken everything, and closes the descriptor."""
        self.detach()
        self._flush_all()
        os.close(self._fd)

    def _write(self, piece: memoryview) -> int:
        return os.write(self._fd, piece[:WRITE_BYTES])

    # --- from the batch -------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Reads no more until `read_on`: the run does not take the lines that have come."""
        self._is_paused = True
        self._watch()

    def read_on(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._watch()

    def fileno(self) -> int:
        return self._fd

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        try:
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose()
            return
        try:
            self._split(data)
        except LinkError:
            self._lose()
        self._deliver()

    def on_writable(self) -> None:
        try:
            self._outbox.flush(self._write)
        except OSError:
            self._lose()
        self._watch()

    def _watch(self) -> None:
        if self._loop is not None:
            reads, writes = not (self.is_lost or self._is_paused), bool(self._outbox.queued)
            self._loop.watch(self, read=reads, write=writes and not self.is_lost)

    def _split(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if isinstance(line, Oversize):
                raise LinkError(f"a line of the batch has {line.size} bytes; the limit is {LINE_LIMIT}")
            self._waiting.append(bytes(line))

    def _deliver(self) -> None:
        while self._waiting and not self.is_lost:
            line = self._waiting.popleft()
            try:
                decoded = orjson.loads(line)
                if isinstance(decoded, dict) and decoded.get("type") not in messages.CONTROL:
                    self.on_line(decoded)
                    continue
                message = messages.decode_from_batch(line)
            except (orjson.JSONDecodeError, msgspec.DecodeError):
                self._lose()
                return
            if isinstance(message, messages.Abort):
                self.abort = self.abort or message
                if message.status != Status.TIMEOUT.value:
                    self.interruption = message
                self.on_end()

    def _lose(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            self._outbox.clear()
            self._watch()
            self.on_end()


def _nothing() -> None:
    """Drops the end: no listener is attached."""


def _ignore(_: object) -> None:
    """Drops a line that answers no request."""
