"""Reloads of several extensions that share work when they are asked for faster than they end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wire.control import ReloadOutcome

    AllDone = Callable[[tuple[ReloadOutcome, ...]], None]


class Rounds:
    """Runs at most `limit` reloads of one kind at the same time. Calls beyond that share one more reload, which begins
    when one of the running reloads has ended. `begin_one` begins a reload; once `is_over` none begins any more."""

    def __init__(self, begin_one: Callable[[AllDone], None], limit: int, *, is_over: Callable[[], bool]) -> None:
        self._begin_one = begin_one
        self._limit = limit
        self._is_over = is_over
        self._running = 0
        self._waiting: list[AllDone] = []
        """The callbacks of the next reload."""

    def begin(self, done: AllDone) -> None:
        """`done` gets the outcomes of a reload that begins now or later."""
        if self._running >= self._limit:
            self._waiting.append(done)
            return
        self._running += 1
        self._begin_one(partial(self._ended, done))

    def _ended(self, done: AllDone, outcomes: tuple[ReloadOutcome, ...]) -> None:
        self._running -= 1
        done(outcomes)
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        if self._is_over():
            _tell_all(waiting, outcomes)
        else:
            self.begin(partial(_tell_all, waiting))


def _tell_all(waiting: Sequence[AllDone], outcomes: tuple[ReloadOutcome, ...]) -> None:
    for done in waiting:
        done(outcomes)
