"""The engine as a child process: starts it, writes its lines, reads them in one thread, and ends it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
from collections import deque

from .errors import ClosedError, RuntimeDied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

READ = 256 * 1024
STDERR_LINES = 50
"""Last lines of standard error that are kept for the exception about the end of the engine."""
STDERR_LINE = 4096
"""Bytes of a line on standard error that are kept."""
CLOSE_S = 10.0
"""Seconds that the engine has to end by itself when it is closed: it stops its extensions meanwhile."""
TERMINATE_S = 5.0
"""Seconds that it has to end after SIGTERM, before SIGKILL."""


class EngineProcess:
    """A child with pipes. A process group of its own keeps the Ctrl-C of a terminal from it: this program decides.

    In the reading thread, `on_line` gets each line of its standard output without the line feed, `on_stderr` each line
    of its standard error, and `on_end` is called once after the last line. Raises `OSError` if it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        on_line: Callable[[bytes], None],
        on_stderr: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        self._on_line = on_line
        self._on_stderr = on_stderr
        self._on_end = on_end
        self._owner = os.getpid()
        self._write_lock = threading.Lock()
        self._last_words: deque[str] = deque(maxlen=STDERR_LINES)
        self._process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            process_group=0,
        )
        self.pid = self._process.pid
        self._thread = threading.Thread(target=self._read, name=f"zot-{self.pid}", daemon=True)
        self._thread.start()

    @property
    def is_own_thread(self) -> bool:
        """Whether the caller runs in the reading thread, which must not wait for a line."""
        return threading.current_thread() is self._thread

    @property
    def is_foreign(self) -> bool:
        """Whether this process was forked from the one that started the engine."""
        return os.getpid() != self._owner

    def write(self, line: bytes) -> None:
        """Writes a line, from any thread. Raises `ClosedError` if the engine takes no more."""
        stdin = self._process.stdin
        assert stdin is not None
        with self._write_lock:
            try:
                left = memoryview(line)
                while left:
                    left = left[stdin.write(left) :]
            except (OSError, ValueError):
                raise ClosedError("the engine takes no more requests") from None

    def died(self) -> RuntimeDied:
        """The exception about the end of the engine, which has closed its standard output: waits for its exit
        status."""
        return RuntimeDied(self._wait(CLOSE_S), tuple(self._last_words))

    # --- the reading thread ---------------------------------------------------------------------------------

    def _read(self) -> None:
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None
        assert stderr is not None
        lines = _Lines(self._on_line)
        errors = _Lines(self._on_stderr_line)
        is_open = True
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ, lines)
            selector.register(stderr, selectors.EVENT_READ, errors)
            while is_open:  # a process that the engine has left may hold standard error open for longer
                for key, _ in selector.select():
                    data = os.read(key.fd, READ)
                    key.data.add(data)
                    if not data:
                        selector.unregister(key.fileobj)
                        is_open = is_open and key.data is not lines
        os.set_blocking(stderr.fileno(), False)
        try:
            while data := os.read(stderr.fileno(), READ):
                errors.add(data)
        except OSError:
            pass
        errors.add(b"")
        self._on_end()
        stdout.close()
        stderr.close()

    def _on_stderr_line(self, line: bytes) -> None:
        text = line[:STDERR_LINE].decode("utf-8", "replace")
        self._last_words.append(text)
        self._on_stderr(text)

    # --- the end ----------------------------------------------------------------------------------------------

    def close(self) -> int:
        """Closes the engine's standard input, and ends its process if that does not end it. Returns its exit status; by
        then all that it has written has been read."""
        self.end_input()
        status = self._wait(CLOSE_S)
        if not self.is_own_thread:
            self._thread.join(TERMINATE_S)
        return status

    def end_input(self) -> None:
        """Closes the engine's standard input: it ends. One that does not read, so that a writer waits, is killed."""
        assert self._process.stdin is not None
        if not self._write_lock.acquire(timeout=CLOSE_S):
            self._process.kill()
            self._write_lock.acquire()
        try:
            self._process.stdin.close()
        finally:
            self._write_lock.release()

    def _wait(self, patience_s: float) -> int:
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._process.send_signal(number)
            try:
                return self._process.wait(patience_s if number is None else TERMINATE_S)
            except subprocess.TimeoutExpired:
                continue
        return self._process.wait()


class _Lines:
    """Splits what is read into lines."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._begun: list[bytes] = []

    def add(self, data: bytes) -> None:
        """Takes what was read; nothing means the end."""
        first, *others = data.split(b"\n")
        self._begun.append(first)
        for line in others:
            self._on_line(b"".join(self._begun))
            self._begun = [line]
        if not data and (last := b"".join(self._begun)):
            self._begun = []
            self._on_line(last)
