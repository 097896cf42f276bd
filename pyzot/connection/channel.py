"""A thread that owns the descriptors of a connection: it alone reads and writes them, and never waits for one of them.

`write` puts the line into a queue and wakes the thread. So no caller waits for the other side, and `write` takes no
lock: it may be called from a signal handler, from a finalizer, and from the thread itself.
"""

from __future__ import annotations

import os
import selectors
import sys
import threading
from collections import deque

from ..errors import ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import FileIO
    from typing import TypeVar

    T = TypeVar("T")

READ = 256 * 1024
UNSENT_LIMIT = 256 * 1024 * 1024
"""Maximum size in bytes of the lines that wait because the other side does not read."""


class Channel:
    """Reads `inputs`, the first of which ends the channel, and writes `output`. In the thread, `on_pass` is called
    before each wait and returns its maximum length in seconds; `on_end` is called once, at the end, with the error or
    None.

    `exit_fd` becomes readable when the process at the other end has exited. The channel closes all of these files.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[tuple[FileIO, Lines]],
        output: FileIO,
        *,
        on_end: Callable[[ProtocolError | None], None],
        on_pass: Callable[[], float | None] = lambda: None,
        exit_fd: int | None = None,
    ) -> None:
        self.is_deaf = False
        """Whether the other side takes no more lines."""
        self._is_over = False
        self._is_paused = False
        self._on_pass = on_pass
        self._on_end = on_end
        self._inputs = dict(inputs)
        self._main = inputs[0][0]
        self._output = output
        self._queue: deque[bytes] = deque()
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._is_output_ending = False
        woken, wake = os.pipe()
        self._woken = open(woken, "rb", buffering=0)  # noqa: SIM115
        self._wake = open(wake, "wb", buffering=0)  # noqa: SIM115
        self._exit = None if exit_fd is None else open(exit_fd, "rb", buffering=0)  # noqa: SIM115
        for file in (*self._inputs, output, self._woken, self._wake):
            os.set_blocking(file.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread. Raises `RuntimeError` if that fails; then all files are closed."""
        _open.add(self)
        try:
            self._thread.start()
        except BaseException:
            _open.discard(self)
            self._close()
            raise

    @property
    def is_own_thread(self) -> bool:
        """Whether the caller runs in the thread, which must not wait for a line."""
        return threading.get_ident() == self._thread.ident

    def write(self, line: bytes) -> None:
        """Queues a line, LF included. After the end it is dropped: `on_end` reports the end."""
        if not (self._is_over or self.is_deaf):
            self._queue.append(line)
            self.wake()

    def wake(self) -> None:
        """Has the thread make another pass."""
        try:
            self._wake.write(b"\0")  # a full pipe wakes the thread anyway
        except (OSError, ValueError):
            return

    def pause(self) -> None:
        """In the thread: reads no more of the first input until `resume`."""
        self._is_paused = True

    def resume(self) -> None:
        """Continues to read, if it was paused."""
        if self._is_paused:
            self._is_paused = False
            self.wake()

    def end_output(self) -> None:
        """In the thread: closes the output after the queued lines."""
        self._is_output_ending = True

    @property
    def has_unsent(self) -> bool:
        """Whether lines wait to be written."""
        return bool(self._queue or self._unsent)

    def stop(self) -> None:
        """Reads no more; the thread ends soon."""
        self._is_over = True
        self.wake()

    def join(self, timeout_s: float | None = None) -> bool:
        """Waits for the end of the thread, except in the thread itself. Returns False if it still runs."""
        if self.is_own_thread:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def forget(self) -> None:
        """Closes the copies of the descriptors in a forked process, which has no such thread: then the other side sees
        the end when the owner ends."""
        self._is_over = True
        self._close()

    # --- in the thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        fault: ProtocolError | None = None
        try:
            self._serve()
            for file, lines in self._inputs.items():
                if not self._is_over:
                    self._read_rest(file, lines)
        except ProtocolError as error:
            fault = error
        except BaseException as error:  # any error must reach the waiting threads
            fault = ProtocolError(f"{type(error).__name__}: {error}")
        self._is_over = True
        try:
            self._on_end(fault)
        finally:
            _open.discard(self)
            self._close()

    def _serve(self) -> None:
        for file, lines in self._inputs.items():
            self._selector.register(file, selectors.EVENT_READ, lines)
        self._selector.register(self._woken, selectors.EVENT_READ)
        if self._exit is not None:
            self._selector.register(self._exit, selectors.EVENT_READ)
        while not self._is_over:
            self._send()
            self._watch_main()
            for key, _ in self._selector.select(self._on_pass()):
                if key.fileobj is self._woken:
                    self._woken.read(READ)
                elif key.fileobj is self._exit:
                    return
                elif (lines := key.data) is not None and not self._read(key.fd, lines):
                    if key.fileobj is self._main:
                        return
                    self._selector.unregister(key.fileobj)

    def _read(self, fd: int, lines: Lines) -> bool:
        """Reads once. Returns False at the end of the file."""
        try:
            data = os.read(fd, READ)
        except BlockingIOError:
            return True
        except OSError:  # a socket whose other end was reset
            return False
        lines.add(data)
        return bool(data)

    def _read_rest(self, file: FileIO, lines: Lines) -> None:
        """Reads the content of the pipe without waiting for its end: another process may hold it open for longer."""
        try:
            while data := os.read(file.fileno(), READ):
                lines.add(data)
        except OSError:
            pass
        lines.end()

    def _send(self) -> None:
        """Writes as much as possible without waiting."""
        while self._queue:
            line = self._queue.popleft()
            self._unsent.append(memoryview(line))
            self._unsent_bytes += len(line)
        if self._unsent_bytes > UNSENT_LIMIT:
            raise ProtocolError(f"more than {UNSENT_LIMIT >> 20} MiB of requests were not read by the other side")
        if self._output.closed:
            return
        try:
            self._write_unsent()
        except BlockingIOError:
            self._watch_output(True)
            return
        except OSError:
            self.is_deaf = self._is_output_ending = True
        self._watch_output(False)
        if self._is_output_ending:
            self._output.close()

    def _write_unsent(self) -> None:
        while self._unsent:
            sent = os.write(self._output.fileno(), self._unsent[0])
            self._unsent_bytes -= sent
            if sent < len(self._unsent[0]):
                self._unsent[0] = self._unsent[0][sent:]
            else:
                self._unsent.popleft()

    def _watch_main(self) -> None:
        is_paused = self._is_paused  # another thread may resume at any time
        if is_paused == (self._main in self._selector.get_map()):
            if is_paused:
                self._selector.unregister(self._main)
            else:
                self._selector.register(self._main, selectors.EVENT_READ, self._inputs[self._main])

    def _watch_output(self, wanted: bool) -> None:
        if wanted != (self._output in self._selector.get_map()):
            if wanted:
                self._selector.register(self._output, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(self._output)

    def _close(self) -> None:
        self._selector.close()
        for file in (*self._inputs, self._output, self._woken, self._wake, self._exit):
            if file is not None:
                try:
                    file.close()
                except OSError:
                    pass


def tell(callback: Callable[[T], None], value: T) -> None:
    """Calls `callback`. Its exception is the program's own fault: it is shown like an uncaught exception, and the
    caller goes on. The same holds for `SystemExit`: it would not end the program, but the thread that all others wait
    for."""
    try:
        callback(value)
    except BaseException as error:
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:  # the program's hook failed, or is None
            sys.__excepthook__(type(error), error, error.__traceback__)


_open: set[Channel] = set()
"""Channels with a running thread."""


def _forget_all() -> None:
    for channel in list(_open):
        channel.forget()
    _open.clear()


os.register_at_fork(after_in_child=_forget_all)


class Lines:
    """Calls `on_line` with each line, without its line feed, and with the first `limit` bytes of a longer one.
    `on_long` is called before that, as soon as a line is longer."""

    def __init__(self, on_line: Callable[[bytes], None], limit: int, on_long: Callable[[], None] | None = None) -> None:
        self._on_line = on_line
        self._on_long = on_long or (lambda: None)
        self._limit = limit
        self._begun: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> None:
        """Takes the bytes of one read."""
        first, *others = data.split(b"\n")
        self._continue(first)
        for piece in others:
            self._on_line(self._ended())
            self._continue(piece)

    def end(self) -> None:
        """The stream has ended: a last line without a line feed counts as a line."""
        if self._size:
            self._on_line(self._ended())

    def _continue(self, piece: bytes) -> None:
        room = self._limit - self._size
        self._size += len(piece)
        if len(piece) <= room:
            self._begun.append(piece)
        elif room >= 0:
            self._begun.append(piece[:room])
            self._size = self._limit + 1
            self._on_long()

    def _ended(self) -> bytes:
        line = b"".join(self._begun)
        self._begun, self._size = [], 0
        return line
