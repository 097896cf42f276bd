"""Splits the time of a call through the supervisor: measures the same round trip with one more layer each time."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from benchmarks.hosts import EVENT, Supervised
from supervisor.loop.future import Pending
from wire.dialects.base import Setup
from wire.dialects.long_lines import LONGEST
from wire.dialects.zot import DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.supervisor import Supervisor


class Layer(Supervised):
    """Calls the product at one of its layers, not at the top."""

    def __init__(self, supervisor: Supervisor, make_call: Callable[[Supervisor], Callable[[], object]]) -> None:
        super().__init__(supervisor)
        self._call = make_call(supervisor)

    def measure(self, count: int, gap_s: float) -> Sequence[int]:  # noqa: ARG002
        samples: list[int] = []
        call, clock = self._call, time.perf_counter_ns
        for _ in range(count):
            start = clock()
            call()
            samples.append(clock() - start)
        return samples


def bytes_only(supervisor: Supervisor) -> Callable[[], object]:
    """Only `os.write` and `os.read` of the same bytes."""
    to, from_, frame, _ = _ends(supervisor)

    def call() -> None:
        os.write(to, frame)
        while not _read(from_):
            os.sched_yield()

    return call


def reading(supervisor: Supervisor) -> Callable[[], object]:
    """Adds framing, decoding, counters, the match of the answer with its request, and the latency histogram."""
    to, from_, frame, expect = _ends(supervisor)
    hear = supervisor.extensions[0].lead.channel.receive

    def call() -> None:
        pending = expect()
        os.write(to, frame)
        while not pending.done:
            if data := _read(from_):
                hear(data)
            else:
                os.sched_yield()

    return call


def waiting(supervisor: Supervisor) -> Callable[[], object]:
    """Adds the wait in the loop, with a deadline and all other descriptors and timers."""
    to, _, frame, expect = _ends(supervisor)
    child, loop = supervisor.extensions[0].lead.child, supervisor.loop
    assert child is not None

    def call() -> None:
        pending = expect()
        os.write(to, frame)
        loop.wait(pending, child.stdout, 5.0)

    return call


def asking(supervisor: Supervisor) -> Callable[[], object]:
    """Adds the id, the state check, the frame, its sending and its counting."""
    requests = supervisor.extensions[0].lead.requests

    def call() -> None:
        requests.wait(requests.ask(EVENT), 5.0)

    return call


def judging(supervisor: Supervisor) -> Callable[[], object]:
    """Adds the lookup of guards, the encoding of the event, and the reading of the verdict: the whole call."""

    def call() -> None:
        supervisor.intercept(EVENT)

    return call


LAYERS = {
    "os.write and os.read": bytes_only,
    "+ framing, decoding, accounts": reading,
    "+ Loop.wait": waiting,
    "+ PendingRequests.ask": asking,
    "+ Supervisor.intercept": judging,
}


def _ends(supervisor: Supervisor) -> tuple[int, int, bytes, Callable[[], Pending]]:
    """Returns the extension's descriptors, a question for the extension, and a function that registers a pending
    request."""
    worker, session = supervisor.extensions[0].lead, DIALECT.session(Setup("", "", LONGEST))
    child, clock = worker.child, supervisor.loop.clock
    assert child is not None
    assert child.stdin is not None

    def expect() -> Pending:
        pending = worker.requests.pending["1"] = Pending(clock())
        return pending

    return child.stdin.fileno(), child.stdout.fileno(), session.ask("1", EVENT), expect


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except BlockingIOError:
        return b""
