"""The order for one profile, and its outcome: what a host and its child say to each other."""

from __future__ import annotations

import msgspec

from supervisor.profile.place import Place  # noqa: TC001  (msgspec reads the annotations)
from wire.text import one_line

LEAST_S, MOST_S, DEFAULT_S = 1, 600, 10
"""Seconds of a profile: the shortest, the longest and the usual one."""


class ProfileOrder(msgspec.Struct, frozen=True):
    """The profile that is wanted."""

    roots: tuple[tuple[int, float], ...]
    """The extension's own processes: pid and start time, as in `Identity`."""
    seconds: float
    place: Place


class HotSpot(msgspec.Struct, frozen=True):
    """A function in which the process spent time."""

    function: str
    place: str
    """File and line, `demo/main.py:4`; empty if unknown."""
    self_s: float
    """Seconds in the function itself, not in functions that it called; of all threads together."""
    percent: float
    """The same, of the time of the profile: above 100 if several threads were in it."""


class Profile(msgspec.Struct, frozen=True):
    """A profile that was made."""

    file: str
    pid: int
    program: str
    """The name of the program: `python3.12`, `node`."""
    kind: str
    """python or node."""
    seconds: float
    cpu_s: float
    """Processor time of the process in these seconds."""
    hot_spots: tuple[HotSpot, ...]
    """The functions with the most time of their own, at most five; none if no function was seen."""
    warning: str = ""

    @property
    def headline(self) -> str:
        """The hottest function in one line: `98 % in spin (demo/main.py:4)`."""
        if not self.hot_spots:
            return "no function ran"
        first = self.hot_spots[0]
        return one_line(
            f"{first.percent:.0f} % in {first.function}" + (f" ({first.place})" if first.place else ""), 300
        )


class Outcome(msgspec.Struct, frozen=True):
    """A profile, or why there is none."""

    profile: Profile | None = None
    error: str = ""
