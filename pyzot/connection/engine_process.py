"""The engine as a child process: starts it, and ends it, whatever program it is."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import time
from collections import deque

from ..errors import ClosedError, ProtocolError, RuntimeDied
from .channel import Channel, Lines
from .pending_answer import PendingAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..errors import ZotError
    from ..flags import Place

STDOUT_LINE = 256 * 1024 * 1024
"""Maximum length in bytes of a line of an engine: all messages of a conversation."""
STDERR_LINES = 50
"""Number of last lines of standard error that are kept for the exception about the end of the engine."""
STDERR_LINE = 4096
"""Number of bytes that are kept of a line on standard error."""
CLOSE_S = 10.0
"""Seconds that a closed engine has to end by itself: it stops its extensions in this time."""
EXIT_S = 5.0
"""Seconds that it has to end after it closed its standard output, and between SIGTERM and SIGKILL."""
STUCK_S = CLOSE_S + 3 * EXIT_S
"""Seconds that `close` waits for the thread of the pipes. A callback of the program that never returns holds it up."""


class EngineProcess:
    """A child with pipes. Its own session keeps Ctrl-C of a terminal from it: this program decides. No program below it
    can read this program's terminal, and Linux shares processors among sessions: an engine under load leaves its part.

    In the thread of the pipes, `on_line` gets each line of its standard output, `on_stderr` each line of its standard
    error, and `on_end` is called once, when the process is gone, with the reason: `RuntimeDied`, `ProtocolError` for a
    program that is not an engine, or `ClosedError` after `end`. Raises `OSError` if the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        on_line: Callable[[bytes], None],
        on_stderr: Callable[[str], None],
        on_end: Callable[[ZotError], None],
        cwd: Place | None = None,
    ) -> None:
        self.ended = PendingAnswer("the end of the engine")
        """Comes when the process is gone and all of its output was read."""
        self._on_stderr = on_stderr
        self._on_end = on_end
        self._owner = os.getpid()
        self._last_words: deque[str] = deque(maxlen=STDERR_LINES)
        self._is_ending = False
        self._is_at_once = False
        self._is_hurried = False
        """Whether the steps are those of an immediate end."""
        self._steps: list[tuple[float, signal.Signals | None]] | None = None
        self._process = subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self._process.pid
        exit_fd = _pidfd(self.pid)
        try:
            self._channel = Channel(
                f"zot-{self.pid}",
                [
                    (self._process.stdout, Lines(on_line, STDOUT_LINE, _raise_too_long)),  # type: ignore[list-item]
                    (self._process.stderr, Lines(self._on_stderr_line, STDERR_LINE)),  # type: ignore[list-item]
                ],
                self._process.stdin,  # type: ignore[arg-type]
                on_end=self._ended,
                on_pass=self._press,
                exit_fd=exit_fd,
            )
        except BaseException:  # no more descriptors
            if exit_fd is not None:
                os.close(exit_fd)
            self._drop()
            raise
        self.write = self._channel.write
        _running.add(self)

    def start(self) -> None:
        """Begins to read. Raises `RuntimeError` if no thread can be started; then the process is gone."""
        try:
            self._channel.start()
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        """Ends a process that was never read."""
        _running.discard(self)
        self._process.kill()
        with self._process:  # closes the pipes and waits
            pass

    @property
    def is_own_thread(self) -> bool:
        """Whether the caller runs in the thread of the pipes, which must not wait for a line."""
        return self._channel.is_own_thread

    @property
    def is_foreign(self) -> bool:
        """Whether this process was forked from the one that started the engine."""
        return os.getpid() != self._owner

    def pause(self) -> None:
        """In the thread of the pipes: reads no more of its standard output until `resume`."""
        self._channel.pause()

    def resume(self) -> None:
        """Continues to read. May be called from anywhere."""
        self._channel.resume()

    def end_input(self) -> None:
        """Closes its standard input once everything is written. To be called before `start`."""
        self._channel.end_output()

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal, unless the process has ended or belongs to another one. May be called from anywhere."""
        if not self.is_foreign:
            self._process.send_signal(number)

    def end(self, *, at_once: bool = False) -> None:
        """Closes the engine's standard input, which ends it; if it does not end, or with `at_once`, sends SIGTERM, and
        then SIGKILL. Does not wait, and may be called from anywhere."""
        self._is_at_once = self._is_at_once or at_once
        self._is_ending = True
        self._channel.resume()
        self._channel.wake()

    def close(self, stuck_s: float | None = None) -> None:
        """Ends the engine and waits for its end and the thread's; at most `stuck_s` seconds (default: `STUCK_S`) for a
        blocked thread: then it kills the engine."""
        self.end()
        if not self._channel.join(STUCK_S if stuck_s is None else stuck_s):
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Gives up the engine in a forked process, of which it is not a child."""
        self._process.returncode = 0

    # --- in the thread of the pipes ---------------------------------------------------------------------------

    def _on_stderr_line(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        self._last_words.append(text)
        self._on_stderr(text)

    def _press(self) -> float | None:
        """Takes the next step of the end, if it is due. Returns the seconds until the following step."""
        if not (self._is_ending or self._channel.is_deaf):
            return None
        now = time.monotonic()
        if self._steps is None:
            self._channel.end_output()
            self._channel.wake()
            self._steps = self._steps_from(now if self._is_at_once else now + CLOSE_S)
            self._is_hurried = self._is_at_once
        elif self._is_at_once and not self._is_hurried:
            self._is_hurried = True
            if self._steps and self._steps[0][1] is signal.SIGTERM:
                self._steps[:2] = [(now, signal.SIGTERM), (now + EXIT_S, signal.SIGKILL)]
        while self._steps and self._steps[0][0] <= now:
            _, number = self._steps.pop(0)
            if number is not None:
                self._process.send_signal(number)
            else:  # it has ended, and another process holds its standard output
                self._channel.stop()
        return self._steps[0][0] - now if self._steps else 0

    def _steps_from(self, first: float) -> list[tuple[float, signal.Signals | None]]:
        """Returns the signals that end it with their times; None stands for giving it up."""
        return [(first, signal.SIGTERM), (first + EXIT_S, signal.SIGKILL), (first + 2 * EXIT_S, None)]

    def _ended(self, fault: ProtocolError | None) -> None:
        """Handles the end of its standard output."""
        try:
            status = self._process.wait(0 if fault else EXIT_S)
        except subprocess.TimeoutExpired:
            fault = fault or ProtocolError("the program has closed its standard output, but runs on: it is no engine")
            status = self._killed()
        _running.discard(self)
        try:
            is_asked = self._is_ending and not self._is_at_once
            died = ClosedError("the runtime is closed") if is_asked else RuntimeDied(status, tuple(self._last_words))
            self._on_end(fault or died)
        finally:
            self.ended.give()

    def _killed(self) -> int:
        self._process.terminate()
        try:
            return self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _raise_too_long() -> None:
    raise ProtocolError(f"a line of more than {STDOUT_LINE >> 20} MiB: the program is no engine")


def _pidfd(pid: int) -> int | None:
    """Returns a descriptor for the exit, even if another process holds the pipes; None if there is none here."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


# --- the end of this process, and copies of it -----------------------------------------------------------------

_running: set[EngineProcess] = set()
"""Processes with a running thread."""


def _end_all() -> None:
    """Ends all of them at the same time, at the exit of this process."""
    running = list(_running)
    for process in running:
        process.end()
    for process in running:
        process.close()


def _forget_all() -> None:
    for process in list(_running):
        process.forget()
    _running.clear()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_forget_all)
