"""Looks at the process trees of all extensions, as often as it is worth: one pass over the process table for all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.accounting.limits import judge
from supervisor.accounting.rates import Usage, follow
from supervisor.monitoring.table_reader import ProcessReader
from supervisor.process.table import ProcessTable, count_open_files, peak_rss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from supervisor.extension.extension import Extension
    from supervisor.extension.generation import Generation
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop, Timer

BUSY_S = 0.25
"""Between two looks while an extension is young or busy."""
IDLE_S = 5.0
YOUNG_S = 10.0
"""An extension is young so long after the start of a process."""
BUSY_CPU_PERCENT = 2.0
SHARE = 0.01
"""Of one core, that looking may cost in the long run."""
FRESH_S = 0.25
"""A sample that is younger need not be repeated for somebody who asks."""


def next_interval(*, is_busy: bool, cost_s: float) -> float:
    """Seconds until the next look. However busy the extensions are, it stays within `SHARE` of one core."""
    return max(BUSY_S if is_busy else IDLE_S, cost_s / SHARE)


class Sampler:
    """Samples by itself from `start` until `stop`, and whenever it is asked to."""

    def __init__(
        self,
        loop: Loop,
        extensions: Sequence[Extension],
        *,
        adopted: Callable[[ProcessTable, str], Iterable[int]],
        on_sample: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._extensions = extensions
        self._adopted = adopted
        self._on_sample = on_sample
        self._reader = ProcessReader(loop.clock)
        self._timer: Timer | None = None
        self._is_on = False
        self._frames_seen = 0
        self._host_before = (loop.clock(), time.process_time())
        self.sampled_at = 0.0
        """On the loop's clock."""
        self.samples = 0
        self.cpu_s = 0.0
        """Processor time that it has cost so far."""
        self.interval_s = BUSY_S
        """Until the next look, as planned."""
        self.host_cpu_percent = 0.0

    def start(self) -> None:
        if not self._is_on:
            self._is_on = True
            self.sample()

    def stop(self) -> None:
        """Frees what it holds; it can still be asked for samples."""
        self._is_on = False
        self._cancel()
        self._reader.close()

    def hurry(self) -> None:
        """Something has begun: the next look is due as if all were busy."""
        due = self._loop.clock() + next_interval(is_busy=True, cost_s=self._cost)
        if self._is_on and (self._timer is None or self._timer.when > due):
            self._plan(due)

    @property
    def _cost(self) -> float:
        return self.cpu_s / self.samples if self.samples else 0.0

    def is_fresh(self) -> bool:
        return self._loop.clock() - self.sampled_at < FRESH_S

    def sample(self, *, thorough: bool = False) -> None:
        """Looks now. A thorough look asks the kernel for each worker's highest size so far, which takes as long as all
        the rest."""
        began = time.process_time()
        pids = {worker.pid for one in self._extensions for worker in one.all_workers if worker.pid is not None}
        try:
            table = self._reader.read(pids)
        except OSError:  # no descriptor left: what is known stays as it is
            self._plan_next(time.process_time() - began)
            return
        now = self._loop.clock()
        over: list[tuple[Generation, Worker, str]] = []
        for extension in self._extensions:
            over += self._look_at(extension, table, now, thorough)
        self.samples += 1
        self.sampled_at = now
        cpu = time.process_time()
        self.cpu_s += cpu - began
        before, cpu_before = self._host_before
        if now > before:
            self.host_cpu_percent = (cpu - cpu_before) / (now - before) * 100
        self._host_before = (now, cpu)
        for generation, worker, figures in over:
            generation.over_limit(worker, figures)
        self._on_sample()
        self._plan_next(cpu - began)

    def _plan_next(self, cost_s: float) -> None:
        now = self._loop.clock()
        if self._is_on:
            self.interval_s = next_interval(is_busy=self._is_busy(now), cost_s=cost_s)
            self._plan(now + self.interval_s)
        else:
            self._reader.close()

    def _look_at(
        self, extension: Extension, table: ProcessTable, now: float, thorough: bool
    ) -> Iterable[tuple[Generation, Worker, str]]:
        """Books what it uses now, all its versions together; returns those of its workers that have to be ended."""
        over = []
        orphans = list(self._adopted(table, extension.name))
        running = [
            (generation, worker)
            for generation in extension.generations
            for worker in generation.workers
            if worker.is_running
        ]
        for generation, worker in running:
            seen = follow(worker.usage, _usage(worker, table, now, orphans))
            counts = seen.is_rated or worker.usage.at is None
            row, figures = judge(generation.limits, seen.reading, worker.usage.row, counts=counts)
            worker.usage = replace(seen, row=row)
            orphans = []  # they are the extension's; counted once
            if figures is not None:
                over.append((generation, worker, figures))
        extension.account.sent_by(now)
        usages = [worker.usage for _, worker in running]
        if usages:
            rss = sum(one.rss for one in usages)
            if thorough:
                rss = max(rss, *(peak_rss(worker.pid or 0) for _, worker in running))
            extension.account.sampled(sum(one.spent_s for one in usages), rss, sum(one.processes for one in usages))
        return over

    def _is_busy(self, now: float) -> bool:
        frames = sum(one.account.frames_in for one in self._extensions)
        talks = frames != self._frames_seen
        self._frames_seen = frames
        return talks or any(
            now - worker.started_at < YOUNG_S or worker.usage.row or (worker.usage.cpu_percent or 0) > BUSY_CPU_PERCENT
            for extension in self._extensions
            for worker in extension.all_workers
            if worker.is_running
        )

    def _plan(self, when: float) -> None:
        self._cancel()
        self._timer = self._loop.call_at(when, self.sample)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _usage(worker: Worker, table: ProcessTable, now: float, orphans: list[int]) -> Usage:
    assert worker.pid is not None
    tree = table.tree([worker.pid, *orphans], session=worker.pid)
    files = [count for pid in tree if (count := count_open_files(pid)) is not None]
    return Usage(
        at=now,
        cpu_s=sum(process.cpu_s for process in tree.values()),
        rss=sum(process.rss for process in tree.values()),
        processes=len(tree),
        threads=sum(process.threads for process in tree.values()),
        open_files=sum(files) if files else None,
        frames_in=worker.frames_in,
    )
