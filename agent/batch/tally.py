"""Counts what a batch has done, and makes its view and its last record."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agent.batch.log import utc_now
from agent.batch.request import BatchView
from agent.batch.reserve import Spent
from wire.batch import records
from wire.batch.outcome import Lost, TaskStatus, Usage
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent.batch.journal.state import BatchState
    from agent.batch.pool.run_facts import RunFacts
    from agent.batch.request import BatchControls, RunView, StopReason
    from agent.batch.reserve import Rule
    from agent.batch.schedule import Halt

RATE_S = 60.0
"""Seconds over which tokens per minute are counted."""
NOT_RUN = "not_run"
"""The word for the tasks without an outcome."""
ETA_AFTER = 3
"""Tasks that must have ended before the rest is estimated."""


class Tally:
    """Of one start of a batch. `now` is the time on the loop's clock."""

    def __init__(self, now: float) -> None:
        self.began = now
        self.statuses: dict[str, int] = {}
        """Number of tasks of this batch that are done, by status, earlier starts included."""
        self.ended = 0
        """Tasks that were done in this start."""
        self._failed: set[str] = set()
        self.retried = 0
        self._tokens: deque[tuple[float, int]] = deque()
        self._before = Spent()

    def begin(self, before: Spent, done: Iterable[TaskStatus]) -> None:
        """Earlier starts have used `before`, and have left these tasks done."""
        self._before = before
        for status, count in count_statuses(done):
            if status is not None:
                self._count(status, count)

    def _count(self, status: TaskStatus, count: int = 1) -> None:
        self.statuses[status.value] = self.statuses.get(status.value, 0) + count

    def task_ended(self, task: str, status: TaskStatus) -> None:
        """A task is done."""
        self._count(status)
        self.ended += 1
        if status is not TaskStatus.OK:
            self._failed.add(task)

    def task_reopened(self, task: str, status: TaskStatus) -> None:
        """A task that was done with this status is run again."""
        self.statuses[status.value] -= 1
        if not self.statuses[status.value]:
            del self.statuses[status.value]
        self._failed.discard(task)

    @property
    def failures(self) -> int:
        """Number of tasks that were done in this start and are not `ok`."""
        return len(self._failed)

    @property
    def done(self) -> int:
        return sum(self.statuses.values())

    @property
    def is_all_ok(self) -> bool:
        return not any(self.statuses[word] for word in self.statuses if word != TaskStatus.OK.value)

    def note_tokens(self, now: float, total: int) -> None:
        """All tokens so far; to be called about once a second."""
        self._tokens.append((now, total))
        while self._tokens[0][0] < now - RATE_S:
            self._tokens.popleft()

    def tokens_per_minute(self) -> float:
        if len(self._tokens) < 2:
            return 0.0
        (first, before), (last, after) = self._tokens[0], self._tokens[-1]
        return (after - before) * 60 / (last - first) if last > first else 0.0

    def eta_s(self, now: float, left: int) -> float | None:
        """Seconds until so many tasks are done, at the pace of this start."""
        if not left:
            return 0.0
        return left * (now - self.began) / self.ended if self.ended >= ETA_AFTER else None

    def view(
        self,
        now: float,
        *,
        tasks: int,
        waiting: int,
        runs: Sequence[RunView],
        jobs: int,
        controls: BatchControls,
        is_draining: bool,
        spent: Spent,
        why_paused: str,
        memory_bytes: int,
        rate_limited: int,
    ) -> BatchView:
        """`spent` is what all starts together have used, `waiting` the tasks that have not begun."""
        before = self._before
        used, earlier = spent.usage, before.usage
        return BatchView(
            tasks=tasks,
            statuses=dict(self.statuses),
            waiting=waiting,
            runs=tuple(runs),
            jobs=jobs,
            retried=self.retried,
            why_paused=why_paused,
            is_paused_by_user=controls.is_paused,
            is_draining=is_draining,
            usage=Usage(
                used.input - earlier.input,
                used.output - earlier.output,
                used.cache_read - earlier.cache_read,
                used.cache_write - earlier.cache_write,
            ),
            known_cost_usd=round(spent.known_usd - before.known_usd, 6),
            has_unknown_cost=not spent.is_known,
            reserved_usd=spent.reserved_usd,
            tokens_per_minute=self.tokens_per_minute(),
            elapsed_s=now - self.began,
            eta_s=self.eta_s(now, tasks - self.done),
            memory_bytes=memory_bytes,
            rate_limited=rate_limited,
        )


def spent_in(state: BatchState, rule: Rule, runs: Iterable[RunFacts] = ()) -> Spent:
    """By all attempts that have ended, earlier starts included, and by the `runs` that have not."""
    going_on, lost = Spent(), Lost()
    for facts in runs:
        going_on += Spent(facts.usage, facts.known_usd, is_known=not facts.has_unknown_cost)
        lost += facts.lost
    return state.spent(rule, lost) + going_on


def count_statuses(results: Iterable[TaskStatus | None]) -> list[tuple[TaskStatus | None, int]]:
    """How many of the results have each status; without those that none has. Statuses are slow to hash, and there may
    be a hundred thousand results."""
    given = list(results)
    found: list[tuple[TaskStatus | None, int]] = []
    left, statuses = len(given), iter((*TaskStatus, None))
    while left:
        status = next(statuses)
        if count := given.count(status):
            found.append((status, count))
            left -= count
    return found


def batch_end(
    reason: StopReason,
    halt: Halt,
    tally: Tally,
    *,
    tasks: int,
    results: Iterable[TaskStatus | None],
    spent: Spent,
    limit: str,
    duration_s: float,
) -> records.BatchEnd:
    """`results` has for each task the status of the result that it has now, which may be that of an earlier start: its
    task was to be run again and has not begun. `limit` is the flag of the limit that was used up, or empty."""
    statuses = {NOT_RUN if status is None else status.value: count for status, count in count_statuses(results)}
    is_all_ok = tally.is_all_ok and tally.done == tasks
    return records.BatchEnd(
        reason=reason,
        limit=limit,
        exit_code=exit_code(reason, is_signalled=bool(halt), is_all_ok=is_all_ok),
        tasks=tasks,
        statuses=statuses,
        usage=spent.usage,
        cost_usd=spent.cost_usd,
        known_cost_usd=spent.known_usd,
        reserved_usd=spent.reserved_usd,
        duration_ms=round(duration_s * 1000),
        time=utc_now(),
    )


def exit_code(reason: StopReason, *, is_signalled: bool, is_all_ok: bool) -> int:
    """Of the process. A signal that came too late to keep anything from being done counts not."""
    if reason == "failed":
        return Status.ERROR.exit_code
    if reason == "stopped" or (reason == "drained" and is_signalled):
        return Status.INTERRUPTED.exit_code
    return Status.OK.exit_code if is_all_ok else Status.PARTIAL_BATCH.exit_code
