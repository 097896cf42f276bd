"""Which request of which run goes to an extension next: one line for each run, served in turn. Pure.

A run has at most `AT_ONCE` young requests under way, so that an extension that answers one after another never works
for long on the requests of one run. A request that is older than `YOUNG_S` counts no longer: slow calls may overlap, up
to `MOST` of one run.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

AT_ONCE = 2
"""Maximum number of young requests of one run under way."""
YOUNG_S = 0.02
"""Seconds for which a request under way is young."""
MOST = 16
"""Maximum number of requests of one run under way."""
WAITING_LIMIT = 256
"""Maximum number of requests and events of one run that wait."""
BYTES_LIMIT = 4 * 1024 * 1024
"""Maximum of their bytes. A single one may have any size."""

Item = TypeVar("Item")


class _Line(Generic[Item]):
    __slots__ = ("bytes", "sent", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Item, int]] = deque()
        """Each with its size in bytes."""
        self.bytes = 0
        self.sent: dict[int, float] = {}
        """When each request under way was sent, oldest first, by its identity."""


class FairQueue(Generic[Item]):
    """The lines of all runs at one extension. A run is any integer. Items that are events are never under way."""

    def __init__(self) -> None:
        self.is_serial = False
        """Whether only one request of all runs may be under way."""
        self._lines: dict[int, _Line[Item]] = {}
        self._turns: deque[int] = deque()
        """The runs with waiting items, the next one first."""
        self._under_way = 0

    def join(self, run: int) -> None:
        self._lines[run] = _Line()

    def leave(self, run: int) -> list[Item]:
        """Removes a run. Returns its waiting items."""
        line = self._lines.pop(run, None)
        if line is None:
            return []
        self._under_way -= len(line.sent)
        if line.waiting:
            self._turns.remove(run)
        return [item for item, _ in line.waiting]

    def may_pass(self, run: int, now: float) -> bool:
        """Whether a new request of this run need not wait."""
        line = self._lines[run]
        return not line.waiting and self._has_room(line, now)

    def add(self, run: int, item: Item, size: int) -> bool:
        """Lets an item wait. Returns False if too many of its run wait."""
        line = self._lines[run]
        if line.waiting and (len(line.waiting) >= WAITING_LIMIT or line.bytes + size > BYTES_LIMIT):
            return False
        if not line.waiting:
            self._turns.append(run)
        line.waiting.append((item, size))
        line.bytes += size
        return True

    def put_back(self, run: int, item: Item, size: int) -> None:
        """Lets an item wait before all others of its run."""
        line = self._lines[run]
        if not line.waiting:
            self._turns.append(run)
        line.waiting.appendleft((item, size))
        line.bytes += size

    def take(self, now: float) -> tuple[int, Item] | None:
        """Removes and returns the next item and its run; None if none may go now."""
        for _ in range(len(self._turns)):
            run = self._turns[0]
            line = self._lines[run]
            if not self._has_room(line, now):
                self._turns.rotate(-1)
                continue
            item, size = line.waiting.popleft()
            line.bytes -= size
            self._turns.popleft()
            if line.waiting:
                self._turns.append(run)
            return run, item
        return None

    def began(self, run: int, key: int, now: float) -> None:
        """A request of this run is under way."""
        self._lines[run].sent[key] = now
        self._under_way += 1

    def ended(self, run: int, key: int) -> None:
        """The request is no longer under way. Does nothing if it was not."""
        line = self._lines.get(run)
        if line is not None and line.sent.pop(key, None) is not None:
            self._under_way -= 1

    def remove(self, run: int, item: Item) -> bool:
        """Removes a waiting item. Returns False if it does not wait."""
        line = self._lines.get(run)
        waiting = () if line is None else line.waiting
        at = next((index for index, (each, _) in enumerate(waiting) if each is item), None)
        if line is None or at is None:
            return False
        line.bytes -= line.waiting[at][1]
        del line.waiting[at]
        if not line.waiting:
            self._turns.remove(run)
        return True

    def waiting(self, run: int) -> list[Item]:
        """The waiting items of a run, in their order."""
        line = self._lines.get(run)
        return [] if line is None else [item for item, _ in line.waiting]

    def has(self, run: int) -> bool:
        """Whether anything of this run waits or is under way."""
        line = self._lines.get(run)
        return line is not None and bool(line.waiting or line.sent)

    @property
    def is_waiting(self) -> bool:
        """Whether anything waits."""
        return bool(self._turns)

    def next_at(self, now: float) -> float | None:
        """When a waiting item may go because a request is no longer young; None if only an answer changes that."""
        if self.is_serial:
            return None
        times = []
        for run in self._turns:
            sent = self._lines[run].sent
            if len(sent) < MOST:
                times += [at + YOUNG_S for at in sent.values() if now < at + YOUNG_S][:1]
        return min(times, default=None)

    def _has_room(self, line: _Line[Item], now: float) -> bool:
        if self.is_serial:
            return not self._under_way
        sent = line.sent
        if len(sent) < AT_ONCE:
            return True
        return len(sent) < MOST and sum(now < at + YOUNG_S for at in sent.values()) < AT_ONCE
