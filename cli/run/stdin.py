"""Reads what is piped to a run. The run waits for it with a bound, and says on stderr what it did with it."""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from math import inf
from typing import TYPE_CHECKING

import msgspec

from cli.run.prompt import PromptError, StdinKind, StdinUse, begins_with_stdin, join, plan_prompt
from cli.terminal import is_terminal
from wire.text import noun_for, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_BYTE_S = 3.0
"""Maximum wait in seconds for the first byte of a pipe that the words do not name."""
QUIET_S = 60.0
"""So long it may then take for the next."""
LARGEST_BYTES = 32 << 20
"""More than any model takes."""
_PIECE_BYTES = 1 << 16


class PromptText(msgspec.Struct, frozen=True):
    """A prompt, and whether it is text although it may look like a command."""

    text: str
    is_literal: bool


def read_prompt(
    words: tuple[str, ...], *, no_stdin: bool = False, timeout: float | None = None, has_images: bool = False
) -> PromptText:
    """The prompt of a run with these words, and maybe images. Says on stderr how much was joined to the words, or why
    nothing was.

    Bytes that are not UTF-8 become U+FFFD, wherever they come from. Raises `PromptError`, and `TimeoutError` if the end
    of stdin does not come within `timeout` seconds.
    """
    kind = kind_of(0)
    planned = plan_prompt(words, kind, no_stdin=no_stdin, has_images=has_images)
    piped: bytes | None = b""
    if planned.reading is not StdinUse.NOT:
        piped = StdinReader(timeout).read(planned.reading)
    if piped is None:
        _say(
            f"nothing came through the pipe on stdin within {FIRST_BYTE_S:g} s; the prompt is its"
            f" {'words' if words else 'images'} alone"
            " (--no-stdin: do not wait; - among the words: wait for it)"
        )
    elif (words or has_images) and piped.strip():
        _say(f"{len(piped):,} {noun_for(len(piped), 'byte')} of stdin joined to the prompt")
    elif words and not no_stdin and planned.reading is StdinUse.NOT and kind is StdinKind.FILE and _has_more(0):
        _say("stdin is a file, which was not read; - among the words joins it to them, --no-stdin hides this line")
    text = join(planned, (piped or b"").decode("utf-8", "replace"))
    return PromptText(valid_text(text), begins_with_stdin(planned))


class StdinReader:
    """Reads a descriptor to its end. `clock` gives seconds; `wait` waits until the descriptor has something or at most
    so many seconds (None: for ever), and returns whether it has."""

    def __init__(
        self,
        timeout: float | None,
        *,
        fd: int = 0,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[int, float | None], bool] | None = None,
    ) -> None:
        self._fd = fd
        self._timeout = timeout
        self._clock = clock
        self._wait = wait or _has_something

    def read(self, reading: StdinUse) -> bytes | None:
        """All of it. With `StdinUse.OFFERED`, None if the first byte did not come in time. Raises `TimeoutError`, and
        `PromptError` if it cannot be read, is too long, or stops in the middle."""
        now = self._clock()
        end = inf if self._timeout is None else now + self._timeout
        next_byte = now + FIRST_BYTE_S if reading is StdinUse.OFFERED else inf
        piped = bytearray()
        while True:
            piece = self._piece(min(end, next_byte))
            if piece is None and end <= next_byte:
                raise TimeoutError(f"timeout: the prompt on stdin did not end within {self._timeout:g} s")
            if piece is None and piped:
                raise PromptError(_stopped_error(len(piped)))
            if piece is None:
                return None
            if not piece:
                return bytes(piped)
            piped += piece
            if len(piped) > LARGEST_BYTES:
                raise PromptError(f"stdin is longer than {LARGEST_BYTES >> 20} MiB: more than any model takes")
            if reading is StdinUse.OFFERED:
                next_byte = self._clock() + QUIET_S

    def _piece(self, until: float) -> bytes | None:
        """The next bytes, empty at the end; None if nothing comes until the time `until`. Raises `PromptError`."""
        while True:
            try:
                left = None if until == inf else max(0.0, until - self._clock())
                return os.read(self._fd, _PIECE_BYTES) if self._wait(self._fd, left) else None
            except BlockingIOError:  # another reader of the same pipe was quicker
                continue
            except OSError as error:
                raise PromptError(f"cannot read the prompt from stdin: {error.strerror}") from None


def kind_of(fd: int) -> StdinKind:
    """The kind of the descriptor."""
    try:
        mode = os.fstat(fd).st_mode
    except OSError:  # closed
        return StdinKind.OTHER
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return StdinKind.STREAM
    if stat.S_ISREG(mode):
        return StdinKind.FILE
    return StdinKind.TERMINAL if is_terminal(fd) else StdinKind.OTHER


def _has_something(fd: int, seconds: float | None) -> bool:
    return bool(select.select([fd], [], [], seconds)[0])


def _has_more(fd: int) -> bool:
    """Whether a file has bytes after its position."""
    try:
        return os.lseek(fd, 0, os.SEEK_CUR) < os.fstat(fd).st_size
    except OSError:
        return False


def _stopped_error(count: int) -> str:
    return (
        f"stdin stopped: {count:,} bytes came, then none for {QUIET_S:g} s, and it is still open. Nothing was sent."
        " With - among the words zot waits as long as --timeout; with --no-stdin it leaves stdin alone"
    )


def _say(line: str) -> None:
    print(f"zot: {line}", file=sys.stderr, flush=True)  # noqa: T201
