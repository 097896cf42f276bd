"""The limits of one start of a batch: keeps the one that is used up, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.batch.budget import reached_limit
from agent.batch.pool.jobs import DESCRIPTORS, available_memory, cores, default_jobs, jobs_within
from supervisor.process import fd_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.budget import LimitStop
    from agent.batch.log import BatchLog
    from agent.batch.request import BatchRequest
    from agent.batch.reserve import Spent


OF_REMOTE_RUN = 5
"""Descriptors of the batch process for a run on a node: both ends of its link, its events and standard error, and one
while these are opened."""


def jobs_of(request: BatchRequest) -> int:
    """Runs at the same time, as far as descriptors allow."""
    return request.jobs or default_jobs(cores(), available_memory(), request.run_memory)


class BatchLimits:
    """`say` gets lines for the user."""

    def __init__(self, request: BatchRequest, *, say: Callable[[str], None], log: BatchLog) -> None:
        self._request = request
        self._is_chosen = request.jobs is not None
        self.stop: LimitStop | None = None
        """Why nothing more is started; None while runs may start."""
        self.wanted = jobs_of(request)
        self.jobs = self.allowed(self.wanted)
        """Runs at the same time."""
        self._say = say
        self._log = log

    def allowed(self, jobs: int) -> int:
        """The number of these jobs for which this process may have descriptors, at least 1. Raises its soft limit."""
        each = DESCRIPTORS if self._request.engine == "local" else OF_REMOTE_RUN
        fd_limit.provide(jobs * each // fd_limit.OF_WORKER)
        return jobs_within(jobs, fd_limit.soft_limit(), each)

    def follow(self, offered: int) -> None:
        """The nodes offer this many runs at the same time: that is the number, unless the user has chosen one."""
        if not self._is_chosen and offered:
            self.wanted = offered
            self.jobs = self.allowed(offered)

    def choose(self, jobs: int) -> None:
        """The user chooses the number of runs at the same time."""
        self.jobs, self._is_chosen = jobs, True

    @property
    def max_cost_usd(self) -> float | None:
        return self._request.max_cost_usd

    def set_max_cost(self, dollars: float) -> None:
        """Replaces `--max-cost-usd`. The limits are looked at anew before the next start."""
        self._request = replace(self._request, max_cost_usd=dollars)
        self.stop = None

    def forbid_start(self, spent: Spent, *, failures: int, elapsed_s: float, left: int) -> bool:
        """Whether a limit forbids the next start; says so. `left` is the number of tasks that are to be started."""
        self.stop = reached_limit(self._request, spent, failures, elapsed_s)
        if self.stop is None:
            return False
        not_started = "1 task is not started" if left == 1 else f"{left} tasks are not started"
        self._say(f"zot batch: {self.stop.words}: {not_started}; running ones end")
        self._log.warning("limit", reason=self.stop.reason, message=self.stop.words, not_started=left)
        return True

    def is_late(self, elapsed_s: float) -> bool:
        """Whether the deadline is over."""
        return self._request.deadline is not None and elapsed_s >= self._request.deadline

    def flag_of(self, reason: str) -> str:
        """The flag of the limit by which the batch has ended for this reason; empty if none was used up."""
        return self.stop.limit if self.stop is not None and reason == self.stop.reason else ""
