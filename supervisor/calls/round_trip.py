"""A round trip to several extensions: what they had written before is read, and handled, once it is over."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop


class RoundTrip:
    """Pings the lead, which gets the events, of each extension that can be pinged. `done` is called once, in a later
    pass: when all have answered or ended, or after `within_s` seconds."""

    def __init__(self, loop: Loop, extensions: Iterable[Extension], done: Callable[[], None], within_s: float) -> None:
        self._loop = loop
        self._done = done
        self._left: dict[Worker, str] = {}
        """The id of the ping to each worker that has not answered."""
        for worker in {extension.lead for extension in extensions}:
            if (
                worker.state.is_up
                and worker.can_ping
                and (trip := worker.channel.round_trips.begin(partial(self._back, worker)))
            ):
                self._left[worker] = trip
        self._timer = loop.call_later(within_s if self._left else 0.0, self._over)

    def _back(self, worker: Worker) -> None:
        del self._left[worker]
        if not self._left:
            self._timer.cancel()
            self._timer = self._loop.call_later(0.0, self._over)

    def _over(self) -> None:
        for worker, trip in self._left.items():
            worker.channel.round_trips.cancel(trip)
        self._left.clear()
        self._done()
