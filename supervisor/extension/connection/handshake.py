"""The rules of the handshake. Pure.

The first frame must be `hello`, within a deadline. The first registrations follow. They are complete at the first of
three moments: the message `ready`, 250 ms without a message (zot's rule, not that of every dialect), a second deadline.
"""

from __future__ import annotations

from enum import Enum

IDLE_IS_READY_S = 0.25
"""Seconds without a frame, after the hello, that count as `ready`."""
NO_NAME = "its hello has no name"
MUTE = "closed its stdout; it can send nothing more"


class Readiness(Enum):
    """Whether a process that has said hello counts as ready, and why."""

    NOT_YET = "not yet"
    SAID = "said"
    """It has sent `ready`."""
    SILENT = "silent"
    LATE = "late"


def readiness(now: float, *, last_frame: float, latest: float, by_silence: bool = True) -> tuple[Readiness, float]:
    """Returns the readiness at time `now` of a worker that sent no `ready`, and the time of the next call. Times are
    seconds of one clock. `last_frame` is the time of the last frame, hello included; `latest` the deadline for `ready`.
    Without `by_silence` only the deadline counts."""
    if now >= latest:
        return Readiness.LATE, now
    if not by_silence:
        return Readiness.NOT_YET, latest
    silent_at = last_frame + IDLE_IS_READY_S
    if now >= silent_at:
        return Readiness.SILENT, now
    return Readiness.NOT_YET, min(latest, silent_at)


def no_hello(hello_s: float, trouble: str = "") -> str:
    """The reason with which a worker is given up. `trouble` is a possible cause that the dialect knows, or ""."""
    return f"said no hello within {hello_s:g} s{trouble and '; '}{trouble}"


def not_hello(frame_type: str) -> str:
    return f"its first frame must be hello, not {frame_type}"
