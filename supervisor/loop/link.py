"""The connection to an extension inside the program in which this host runs; a process has pipes instead.

It has no descriptor: the frames of the extension come between the other lines of that program, which the loop reads in
each pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.loop.wait_habit import WaitHabit

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.framing import Oversize

LINK_LIMIT = 48 * 1024 * 1024
"""Maximum of bytes that wait for a program that does not read, its other lines included. Beyond it, frames are
refused."""


class LinkOutput(Protocol):
    """The carrier of frames to the program, between its other lines."""

    @property
    def is_open(self) -> bool: ...
    @property
    def queued(self) -> int:
        """Bytes that wait for the program."""

    @property
    def stuck_since(self) -> float | None:
        """While bytes wait: the time at which the program last read some, on the loop's clock. Otherwise None."""

    def frame(self, extension: str, frame: bytes) -> None:
        """Writes a line with a frame."""

    def ended(self, extension: str, reason: str) -> None:
        """Writes the line that says that the extension has ended."""


class Link:
    """The frames of one extension in both directions. A worker calls `send`, and sets the three callbacks."""

    name = "the lines for it"
    """The name of the program's input, for messages."""
    is_hosted = False
    """Whether another host runs the extension, for this run and for others."""
    restarted_by = reloaded_by = "it lives in the client program, and only that program can restart it"
    """Why this host does not restart or reload the extension."""

    def __init__(self, name: str, output: LinkOutput) -> None:
        self._name = name
        self._output = output
        self._is_open = True
        self.on_frames: Callable[[bytes], None] = _ignore
        """Gets each frame of the extension as a line, LF included."""
        self.on_oversize: Callable[[Oversize], None] = _ignore
        """Gets the start of a frame that was too long to be read."""
        self.on_lost: Callable[[str], None] = _ignore
        """Gets the reason when the program has ended the extension, or is gone."""
        self.habit = WaitHabit()
        self.habit.sleeps = True
        self.habit.left = 0  # so the countdown passes 0 and never measures: there is nothing to learn

    # --- frames to the extension --------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self._is_open and self._output.is_open

    @property
    def queued(self) -> int:
        return self._output.queued

    @property
    def stuck_since(self) -> float | None:
        return self._output.stuck_since

    def send(self, frame: bytes) -> bool:
        """Queues a frame. Returns False and sends nothing if the program does not read, or if the link is closed. With
        nothing in the queue a frame may have any size."""
        queued = self._output.queued
        if not self.is_open or (queued and queued + len(frame) > LINK_LIMIT):
            return False
        self._output.frame(self._name, frame)
        return True

    def close(self, reason: str) -> None:
        """Closes the link and tells the program why. A second call does nothing."""
        if self._is_open:
            self._is_open = False
            self.on_frames = self.on_oversize = self.on_lost = _ignore
            self._output.ended(self._name, reason)

    # --- waiting: every pass of the loop reads the program's lines ------------------------------------------

    def fileno(self) -> int:
        return -1

    def has_input(self) -> bool:
        return False

    def take(self) -> None:
        pass

    def sleep(self, timeout_s: float) -> bool:  # noqa: ARG002
        """Returns at once, so that the wait goes on with whole passes of the loop."""
        return False

    def on_readable(self, budget: int) -> None:
        pass

    def on_writable(self) -> None:
        pass

    def expect_large(self) -> None:
        pass


def _ignore(_: object) -> None:
    """Replaces callbacks before the start and after the end."""
