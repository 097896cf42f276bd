"""Ends processes of one version of an extension that hang, after a last look at what they do."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from supervisor.extension.restart import Cause
from supervisor.process.table import read_process
from supervisor.process.threads import describe_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop
    from wire.manifest import Manifest

MIB = 1024 * 1024
DUMP_S = 0.5
"""From SIGQUIT until a process that hangs is ended: time to write where it is."""


class StallHandler:
    def __init__(self, loop: Loop, manifest: Manifest, log: ExtensionLog) -> None:
        self._loop = loop
        self._manifest = manifest
        self._log = log
        self._reasons: dict[Worker, str] = {}
        """Of those that hang, while they are to write where they are."""

    def ran_out_of_time(self, worker: Worker) -> None:
        row = worker.timeouts_in_row
        if row >= self._manifest.stall_after:
            self.end(worker, f"{row} request{'s' * (row > 1)} in a row without an answer in time")

    def end(self, worker: Worker, why: str) -> None:
        """Gives the worker up, half a second later if it is to write where it is."""
        if worker in self._reasons or not worker.state.is_up:
            return
        self._reasons[worker] = why
        self._log.note(f"hangs: {why}")
        for line in evidence(worker):
            self._log.note(line)
        for line in self._log.last_lines():
            self._log.note(f"its stderr before that: {line}")

        def give_up() -> None:
            worker.give_up(f"it hangs: {why}", Cause.STALLED)

        if self._manifest.dump_on_stall:
            worker.kill(signal.SIGQUIT)
            self._loop.call_later(DUMP_S, give_up)
        else:
            give_up()

    def reason(self, worker: Worker) -> str | None:
        """Why a worker that has ended was taken to hang, be it that it took SIGQUIT for its end. Asked once."""
        return self._reasons.pop(worker, None)


IDS_SHOWN = 20


def evidence(worker: Worker) -> Iterator[str]:
    """Lines: what it owes, its size, and what the kernel says its threads do."""
    ids = list(worker.pending)
    if ids:
        more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
        yield f"pending: {', '.join(ids[:IDS_SHOWN])}{more}"
    if worker.pid is None or (process := read_process(worker.pid)) is None:
        return
    yield f"pid {worker.pid}, rss {process.rss / MIB:.1f} MiB, cpu {process.cpu_s:.2f} s, {process.threads} threads"
    yield from describe_threads(worker.pid)
