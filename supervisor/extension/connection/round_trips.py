"""Round trips to workers: at the pong, the host has read all that the worker wrote before it got the ping."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.loop.loop import Loop

OPEN_LIMIT = 100
"""Maximum number of round trips to one worker at the same time."""


class RoundTrips:
    """The pings of one worker besides its watchdog's. `ping` sends one with this id, and returns False if the worker
    is not expected to answer now."""

    __slots__ = ("_begun", "_done", "_ping")

    def __init__(self, ping: Callable[[str], bool]) -> None:
        self._ping = ping
        self._done: dict[str, Callable[[], None]] = {}
        self._begun = 0

    def begin(self, done: Callable[[], None]) -> str:
        """Sends a ping. `done` is called once: at its pong, or at the end of the worker. Returns an id for `cancel`; ""
        if no ping was sent."""
        if len(self._done) >= OPEN_LIMIT:
            return ""
        self._begun += 1
        trip = f"trip-{self._begun}"
        if not self._ping(trip):
            return ""
        self._done[trip] = done
        return trip

    def is_open(self, ping_id: str) -> bool:
        """Whether a round trip waits for this pong."""
        return ping_id in self._done

    def cancel(self, trip: str) -> None:
        """Stops waiting for this pong."""
        self._done.pop(trip, None)

    def returned(self, ping_id: str) -> bool:
        """Called for each pong. Returns False if it belongs to no round trip."""
        if (done := self._done.pop(ping_id, None)) is None:
            return False
        done()
        return True

    def end(self) -> None:
        """Called at the end of the worker: no pong will come."""
        waiting, self._done = self._done, {}
        for done in waiting.values():
            done()


class RoundTrip:
    """One round trip to each of several workers. `done` is called once, in a later pass: when all have answered or
    ended, or after `within_s` seconds."""

    def __init__(self, loop: Loop, asked: Iterable[RoundTrips], done: Callable[[], None], within_s: float) -> None:
        self._loop = loop
        self._done = done
        self._left: dict[RoundTrips, str] = {}
        """The id of the ping to each worker that has not answered."""
        for trips in asked:
            if trip := trips.begin(partial(self._back, trips)):
                self._left[trips] = trip
        self._timer = loop.call_later(within_s if self._left else 0.0, self._over)

    def _back(self, trips: RoundTrips) -> None:
        del self._left[trips]
        if not self._left:
            self._timer.cancel()
            self._timer = self._loop.call_later(0.0, self._over)

    def _over(self) -> None:
        for trips, trip in self._left.items():
            trips.cancel(trip)
        self._left.clear()
        self._done()
