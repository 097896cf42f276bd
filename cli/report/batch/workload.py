"""How many runs there were at each moment of a batch, and how many of them waited. Pure.

A batch can be started several times, with days between. The axis is the time in which a batch process worked: what lies
between the end of one start and the next one is left out, and each start is marked.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from wire.batch.journal_lines import Closed, Finished, Opened, Paused, Resumed, Started

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.batch.journal_lines import Line

REASONS_KEPT = 100
REASON_CHARACTERS = 300
RATE_LIMIT = "rate limit: "
"""The beginning of the reasons that come from the throttle."""


class WorkloadColumn(NamedTuple):
    """The runs in one stretch of time."""

    running: float
    """Mean number of runs that were not paused."""
    paused: float
    """Mean number of runs that waited."""


class Pauses(NamedTuple):
    """The pauses for one reason."""

    reason: str
    times: int
    seconds: float
    """Seconds of all runs together."""

    @property
    def is_rate_limit(self) -> bool:
        """Whether the runs waited for the provider; otherwise for the user, or for another request of their prefix."""
        return self.reason.startswith(RATE_LIMIT)


class Workload:
    """A fold over the lines of a journal, in their order. Times are seconds of work since the first line."""

    def __init__(self) -> None:
        self.starts: list[tuple[float, float, int]] = []
        """When each start was, its unix time, and its `jobs`."""
        self.changes: list[tuple[float, int, int]] = []
        """When the numbers changed, and the runs that were not paused and those that were, from then on."""
        self.most = 0
        """Maximum number of runs at a time, paused ones included."""
        self.end = 0.0
        self._last = 0.0  # unix time of the last line
        self._running: set[tuple[str, int]] = set()
        self._paused: dict[tuple[str, int], tuple[float, str]] = {}
        self._pauses: dict[str, tuple[int, float]] = {}

    def take(self, line: Line) -> None:
        """The next line. A clock that is set back stands still until then."""
        if isinstance(line, Opened):
            self._stop()
            self._last = line.t  # what lies between two starts is left out
            self.starts.append((self.end, line.t, line.jobs))
            self._change()
            return
        if not self.starts:  # a journal whose first line is another one
            self._last = line.t
            self.starts.append((0.0, line.t, 0))
        self._pass_to(line.t)
        # The lines of `finished` come in several forms, with more or less of their outcome.
        key = (getattr(line, "task", ""), getattr(line, "attempt", 0))
        if isinstance(line, Started):
            self._running.add(key)
            self.most = max(self.most, len(self._running))
        elif isinstance(line, Paused):
            if key in self._running and key not in self._paused:
                self._paused[key] = (self.end, line.reason[:REASON_CHARACTERS])
        elif isinstance(line, Resumed):
            self._resume(key)
        elif isinstance(line, Closed):
            self._stop()
        elif isinstance(line, Finished) or hasattr(line, "outcome"):
            self._resume(key)
            self._running.discard(key)
        else:
            return
        self._change()

    def until(self, now: float) -> None:
        """The batch still runs: what is true after the last line is true until now, a unix time."""
        if self.starts:
            self._pass_to(now)
            self._change()

    def _pass_to(self, at: float) -> None:
        if at > self._last:
            self.end += at - self._last
            self._last = at

    def _stop(self) -> None:
        for key in list(self._paused):
            self._resume(key)
        self._running.clear()
        self._change()

    def _resume(self, key: tuple[str, int]) -> None:
        since = self._paused.pop(key, None)
        if since is not None:
            self._count(since[1], self.end - since[0])

    def _count(self, reason: str, seconds: float) -> None:
        if reason not in self._pauses and len(self._pauses) >= REASONS_KEPT:
            reason = "other reasons"
        count, before = self._pauses.get(reason, (0, 0.0))
        self._pauses[reason] = (count + 1, before + seconds)

    def _change(self) -> None:
        paused = len(self._paused)
        now = (self.end, len(self._running) - paused, paused)
        if self.changes and self.changes[-1][0] == now[0]:
            self.changes[-1] = now
        elif not self.changes or self.changes[-1][1:] != now[1:]:
            self.changes.append(now)

    def pauses(self) -> list[Pauses]:
        """The longest first. Pauses that have not ended count until the end."""
        held = dict(self._pauses)
        for since, reason in self._paused.values():
            count, seconds = held.get(reason, (0, 0.0))
            held[reason] = (count + 1, seconds + self.end - since)
        found = [Pauses(reason, count, seconds) for reason, (count, seconds) in held.items()]
        return sorted(found, key=lambda one: (-one.seconds, -one.times, one.reason))

    def columns(self, most: int) -> list[WorkloadColumn]:
        """The mean in each of `most` equal stretches of the time; empty if no time has passed."""
        if self.end <= 0 or not self.changes:
            return []
        width = self.end / most or self.end  # half of the smallest number is 0
        running, paused = [0.0] * most, [0.0] * most
        for begin, end, runs, waiting in _stretches(self.changes, self.end):
            if not runs and not waiting:
                continue
            first = min(most - 1, int(begin / width))
            last = min(most - 1, int(end / width))
            for index in range(first, last + 1):
                share = max(0.0, min(end, (index + 1) * width) - max(begin, index * width)) / width
                running[index] += runs * share
                paused[index] += waiting * share
        return [WorkloadColumn(*both) for both in zip(running, paused, strict=True)]


def _stretches(changes: Sequence[tuple[float, int, int]], end: float) -> list[tuple[float, float, int, int]]:
    """Begin and end of each stretch in which the numbers are the same, and the numbers."""
    closed = [*changes, (end, 0, 0)]
    return [(before[0], after[0], before[1], before[2]) for before, after in pairwise(closed) if after[0] > before[0]]
