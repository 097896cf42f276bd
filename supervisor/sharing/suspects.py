"""Which runs may have killed a shared extension, and which run gets a process of its own. Pure.

The extension died with requests of several runs: any of them may be the cause, and all these runs are suspects. Their
verdicts are asked once more, one at a time, so that the next death has one cause. A run whose request was under way at
two deaths is convicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

DEATHS = 2
"""Number of deaths with a request of the same run under way after which the run is convicted."""


class Suspects:
    """The suspects of one extension. A run is any integer."""

    def __init__(self) -> None:
        self.deaths: dict[int, int] = {}
        """Number of deaths with a request of this run under way."""
        self._open: set[int] = set()

    @property
    def is_any(self) -> bool:
        """Whether requests must go one at a time."""
        return bool(self._open)

    def died_with(self, runs: Collection[int]) -> list[int]:
        """The extension died with requests of these runs under way. Returns the convicted ones."""
        self._open.update(runs)
        convicted = []
        for run in sorted(runs):
            self.deaths[run] = self.deaths.get(run, 0) + 1
            if self.deaths[run] >= DEATHS:
                convicted.append(run)
                self._open.discard(run)
        return convicted

    def cleared(self, run: int) -> None:
        """A request of this run was answered."""
        self._open.discard(run)

    def keep_only(self, has_request: Callable[[int], bool]) -> None:
        """Drops suspects without a request: no answer will clear them."""
        self._open = {run for run in self._open if has_request(run)}

    def forget(self, run: int) -> None:
        """The run has gone."""
        self.deaths.pop(run, None)
        self._open.discard(run)
