"""Samples the process trees of all extensions, with one read of the process table; more often while one is busy."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.accounting.limits import TreeUse, add_rates, judge
from supervisor.process.fd_limit import first_spare
from supervisor.process.table import (
    ON_LINUX,
    Process,
    ProcessTable,
    children_of,
    count_open_files,
    parse_stat,
    peak_rss,
    read_stat,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from supervisor.extension.extension import Extension
    from supervisor.extension.generation import Generation
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop, Timer

KEPT = 2000
"""Maximum number of descriptors that are kept open, one for each process."""
FEW = 24
"""Maximum number of processes that are read from the top down: a list of children takes three times as long as a known
process, and more for a process with threads."""
STRANGERS_S = 10.0
"""Seconds for which a pid that belonged to no descendant is not read again. The kernel reuses a pid only after all
others, so this is too long only with thousands of new processes a second."""


class TableReader:
    """`read` returns the host, its descendants, and the members of the given sessions. Each child of the host leads a
    session. If the host is not a subreaper, its session shows a process that lost its parent."""

    def __init__(self, clock: Callable[[], float], has_all: Callable[[], bool] = lambda: False) -> None:
        """`has_all` returns whether this process gets all orphans below it, as a subreaper."""
        self._clock = clock
        self._has_all = has_all
        self._files: dict[int, int] = {}
        self._strangers: set[int] = set()
        self._looked_at = -STRANGERS_S

    def read(self, sessions: Collection[int]) -> ProcessTable:
        """Reads the process table. If no descriptor is left, closes all its own and raises `OSError`."""
        try:
            return self._read_all(sessions)
        except OSError:
            self.close()
            raise

    def _read_all(self, sessions: Collection[int]) -> ProcessTable:
        if not ON_LINUX:
            return ProcessTable.read()
        now = self._clock()
        if now - self._looked_at >= STRANGERS_S:
            self._looked_at = now
            self._strangers.clear()
        table = ProcessTable(process for pid in self._candidates() if (process := self._read(pid)) is not None)
        roots = [pid for pid, process in table.by_pid.items() if process.session in sessions]
        ours = table.tree([os.getpid(), *roots])
        for pid, process in table.by_pid.items():
            if pid not in ours and not process.is_zombie:
                self._strangers.add(pid)
        for pid in self._files.keys() - ours.keys():
            os.close(self._files.pop(pid))
        for pid in ours.keys() - self._files.keys():
            self._keep(pid)
        return table

    def _candidates(self) -> list[int]:
        strangers = self._strangers
        if self._has_all() and (few := _few_descendants(os.getpid())) is not None:
            return few
        return [pid for name in os.listdir("/proc") if name.isdigit() and (pid := int(name)) not in strangers]

    def _read(self, pid: int) -> Process | None:
        fd = self._files.get(pid)
        if fd is None:
            return read_stat(pid)
        try:
            return parse_stat(pid, os.pread(fd, 4096, 0))
        except OSError:  # it has ended; another process may have its pid by now
            os.close(self._files.pop(pid))
            return read_stat(pid)

    def _keep(self, pid: int) -> None:
        """Keeps a descriptor of this process open, if the spare ones stay free. The start time shows a pid that was
        reused meanwhile."""
        if len(self._files) < KEPT:
            try:
                fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return
            if fd < first_spare():
                self._files[pid] = fd
            else:
                os.close(fd)

    def close(self) -> None:
        for fd in self._files.values():
            os.close(fd)
        self._files.clear()


def _few_descendants(top: int) -> list[int] | None:
    """The process and all its descendants; None if they are more than `FEW`, or if the kernel has no such lists."""
    found = [top]
    for pid in found:  # the loop itself appends to the list
        children = children_of(pid)
        if children is None and pid == top:
            return None
        found += children or ()
        if len(found) > FEW:
            return None
    return found


BUSY_S = 0.25
"""Seconds between two samples while an extension is young or busy."""
IDLE_S = 5.0
"""Seconds between two samples otherwise."""
YOUNG_S = 10.0
"""Seconds for which an extension is young after the start of each of its workers."""
BUSY_CPU_PERCENT = 2.0
"""Percent of one core above which a worker makes its extension busy."""
SHARE = 0.01
"""Fraction of one core that sampling may use on average."""


def next_interval(*, is_busy: bool, cost_s: float) -> float:
    """Seconds until the next sample. They grow with the cost, so that sampling stays within `SHARE` of one core."""
    return max(BUSY_S if is_busy else IDLE_S, cost_s / SHARE)


class Sampler:
    """Samples by itself from `start` until `stop`, and on each call of `sample`."""

    def __init__(
        self,
        loop: Loop,
        extensions: Sequence[Extension],
        adopted: Callable[[ProcessTable, str], Iterable[int]],
        has_all: Callable[[], bool],
        on_sample: Iterable[Callable[[], None]],
    ) -> None:
        self._loop = loop
        self._extensions = extensions
        self._adopted = adopted
        self._on_sample = on_sample
        self._reader = TableReader(loop.clock, has_all)
        self._timer: Timer | None = None
        self._is_on = False
        self._is_followed = False  # whether another sample follows the next one soon
        self._frames_seen = 0
        self._host_before = (loop.clock(), time.process_time())
        self.sampled_at = 0.0
        """Time of the last sample on the loop's clock."""
        self.samples = 0
        self.cpu_s = 0.0
        """Processor time of all samples so far."""
        self.interval_s = BUSY_S
        """Planned seconds until the next sample."""
        self.host_cpu_percent = 0.0

    def start(self) -> None:
        if not self._is_on:
            self._is_on = True
            self._plan(self._loop.clock() + BUSY_S)

    def stop(self) -> None:
        """Stops sampling by itself and closes the descriptors of the process table. `sample` still works."""
        self._is_on = False
        self._cancel()
        self._reader.close()

    def hurry(self, *, at_once: bool = False) -> None:
        """Takes the next sample after the interval of busy extensions, unless it is planned for earlier. With `at_once`
        takes one as soon as the cost of the last one allows, and the next after that interval."""
        now = self._loop.clock()
        if at_once:
            self._is_followed = True
            due = max(now, self.sampled_at + self._cost / SHARE)
        else:
            due = now + next_interval(is_busy=True, cost_s=self._cost)
        if self._is_on and (self._timer is None or self._timer.when > due):
            self._plan(due)

    @property
    def _cost(self) -> float:
        return self.cpu_s / self.samples if self.samples else 0.0

    def sample(self, *, thorough: bool = False) -> None:
        """Takes a sample now. With `thorough` it also reads the peak memory of each worker, which doubles the cost."""
        began = time.process_time()
        workers = (worker for extension in self._extensions for worker in extension.all_workers)
        pids = {worker.pid for worker in workers if worker.pid is not None}
        try:
            table = self._reader.read(pids)
        except OSError:  # no descriptor is left: the last figures stay
            self._plan_next(time.process_time() - began)
            return
        now = self._loop.clock()
        over: list[tuple[Generation, Worker, str]] = []
        for extension in self._extensions:
            over += self._measure(extension, table, now, thorough)
        self.samples += 1
        self.sampled_at = now
        cpu = time.process_time()
        self.cpu_s += cpu - began
        before, cpu_before = self._host_before
        if now > before:
            self.host_cpu_percent = (cpu - cpu_before) / (now - before) * 100
        self._host_before = (now, cpu)
        for extension in self._extensions:
            if leak := extension.account.take_leak():
                extension.fell("leak", leak)
        for generation, worker, figures in over:
            generation.over_limit(worker, figures)
        for callback in self._on_sample:
            callback()
        self._plan_next(cpu - began)

    def _plan_next(self, cost_s: float) -> None:
        now = self._loop.clock()
        if self._is_on:
            is_busy = self._is_busy(now) or self._is_followed
            self._is_followed = False
            self.interval_s = next_interval(is_busy=is_busy, cost_s=cost_s)
            self._plan(now + self.interval_s)
        else:
            self._reader.close()

    def _measure(
        self, extension: Extension, table: ProcessTable, now: float, thorough: bool
    ) -> Iterable[tuple[Generation, Worker, str]]:
        """Adds up the use of all generations of an extension. Returns workers over their limits, with figures."""
        over = []
        orphans = list(self._adopted(table, extension.name))
        running = [
            (generation, worker)
            for generation in extension.generations
            for worker in generation.workers
            if worker.is_running
        ]
        for generation, worker in running:
            seen = add_rates(worker.usage, _usage(worker, table, now, orphans))
            counts = seen.is_rated or worker.usage.at is None
            row, figures = judge(generation.limits, seen.reading, worker.usage.row, counts=counts)
            worker.sampled(replace(seen, row=row))
            orphans = []  # orphans belong to the extension: they are counted once, with the first worker
            if figures is not None:
                over.append((generation, worker, figures))
        extension.account.update_send_rate(now)
        usages = [worker.usage for _, worker in running]
        if usages:
            rss = sum(usage.rss for usage in usages)
            if thorough:
                rss = max(rss, *(peak_rss(worker.pid) for _, worker in running if worker.pid is not None), 0)
            spent_s = sum(usage.spent_s for usage in usages)
            extension.account.sampled(now, spent_s, rss, sum(usage.processes for usage in usages))
        return over

    def _is_busy(self, now: float) -> bool:
        frames = sum(extension.account.frames_in for extension in self._extensions)
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


def _usage(worker: Worker, table: ProcessTable, now: float, orphans: list[int]) -> TreeUse:
    if worker.pid is None:  # it lives in the embedding program, whose processes are not the host's to measure
        return TreeUse(at=now, frames_in=worker.channel.frames_in)
    tree = table.tree([worker.pid, *orphans], session=worker.pid)
    files = [count for pid in tree if (count := count_open_files(pid)) is not None]
    return TreeUse(
        at=now,
        cpu_s=sum(process.cpu_s for process in tree.values()),
        rss=sum(process.rss for process in tree.values()),
        processes=len(tree),
        threads=sum(process.threads for process in tree.values()),
        open_files=sum(files) if files else None,
        frames_in=worker.channel.frames_in,
    )
