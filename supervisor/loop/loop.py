"""The event loop watches descriptors, timers and signals. It is the only place where the host waits.

The loop is synchronous: `run_until` and `wait` return when the awaited thing has happened or the deadline has passed.
Callbacks never wait (asserted). The cost of a pass grows with the ready descriptors, not with the registered ones.
"""

from __future__ import annotations

import heapq
import os
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from supervisor.loop.poller import READ, WRITE, make_poller

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from supervisor.loop.future import Pending
    from supervisor.loop.wait_habit import WaitHabit


class Timestamp(NamedTuple):
    wall: float
    """Seconds since the epoch."""
    clock: float
    """Seconds of the monotonic clock."""

    @classmethod
    def now(cls) -> Timestamp:
        return cls(time.time(), time.monotonic())

    @property
    def age_ms(self) -> float:
        """Milliseconds since this moment, on the monotonic clock."""
        return (time.monotonic() - self.clock) * 1000


BACKGROUND_READ = 8 * 1024
"""Bytes read from another descriptor before the awaited one is checked again."""
FULL_READ = 64 * 1024
"""Bytes read from a descriptor in one pass when no descriptor is awaited."""

SPIN_S = 40e-6
"""Seconds for which a wait yields the processor for a quick answer before it sleeps in the kernel."""
SLOW_YIELD_S = 400e-6
"""Maximum of a yield in seconds. After a longer one the core is contended: spinning would cost more than it saves."""
NO_SPIN_S = 1.0
"""Seconds without spinning after a slow yield."""
FAIR_S = 5e-3
"""Maximum of seconds between two services of other descriptors and timers while calls follow without a pause."""

CANCELLED_KEPT = 64
"""Cancelled timers that may stay in the heap before the heap is rebuilt without them."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a host, a run or a batch."""

Clock = Callable[[], float]


def stop_signals() -> list[signal.Signals]:
    """The `STOP_SIGNALS` that this process handles: a signal that is ignored now, as under nohup, stays ignored."""
    return [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


class Watcher(Protocol):
    """An object with a descriptor."""

    def fileno(self) -> int: ...
    def on_readable(self, budget: int) -> None:
        """Reads `budget` bytes at most."""
        ...

    def on_writable(self) -> None: ...


class Awaited(Watcher, Protocol):
    """A watcher whose descriptor can be checked alone, ahead of all others."""

    habit: WaitHabit

    def has_input(self) -> bool: ...
    def take(self) -> None:
        """Reads once if there is input."""
        ...

    def sleep(self, timeout_s: float) -> bool:
        """Sleeps until there is input. Returns False at the timeout."""
        ...


class Outgoing(Protocol):
    """A writer that may hold back bytes."""

    @property
    def queued(self) -> int: ...


class Timer:
    """A callback at a time on the loop's clock."""

    __slots__ = ("_loop", "callback", "when")

    def __init__(self, loop: Loop, when: float, callback: Callable[[], None]) -> None:
        self._loop = loop
        self.when = when
        self.callback: Callable[[], None] | None = callback
        """None after the timer has run or was cancelled."""

    def cancel(self) -> None:
        if self.callback is not None:
            self.callback = None
            self._loop.forget_timer()


class Loop:
    """Owns all descriptors of the host. One per thread; `close` it at the end."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self._poller = make_poller()
        self._watched: dict[int, tuple[Watcher, int]] = {}
        """Each watcher with its mask, by descriptor."""
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = 0
        self._cancelled = 0  # timers that are still in the heap
        self._dispatching = False
        self.pass_time = clock()
        """When the current pass began, on the loop's clock. Cheaper than a call of the clock."""
        self.passes = 0
        """Passes so far. Each one checks all descriptors."""
        self._served_at = self.pass_time  # when the last pass ended: one with much to read takes longer than `FAIR_S`
        self._no_spin_until = 0.0
        self.children: set[int] = set()
        """Pids of the host's own children whose exit status is not collected yet."""
        self.outliving: set[int] = set()
        """The part of `children` that may outlive the host: no teardown ends them, nor their descendants."""
        self.on_child_end: Callable[[], None] | None = None
        """Called within `signals` when a child of this process has ended: its own, or an orphan that it has adopted."""

    # --- what to watch ------------------------------------------------------------------------------------

    def watch(self, watcher: Watcher, *, read: bool = False, write: bool = False) -> None:
        """Starts or changes the watch on a descriptor. With neither `read` nor `write`, ends the watch."""
        mask = (READ if read else 0) | (WRITE if write else 0)
        fd = watcher.fileno()
        if not mask:
            if self._watched.pop(fd, None) is not None:
                self._poller.unregister(fd)
            return
        if fd in self._watched:
            self._poller.modify(fd, mask)
        else:
            self._poller.register(fd, mask)
        self._watched[fd] = watcher, mask

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Calls `callback` in the first pass at or after `when`, on this loop's clock."""
        timer = Timer(self, when, callback)
        self._sequence += 1
        heapq.heappush(self._timers, (when, self._sequence, timer))
        return timer

    def forget_timer(self) -> None:
        """Counts a cancelled timer, and rebuilds the heap once half of its timers are cancelled. Otherwise the heap
        grows: every answered call leaves a timer for a deadline a minute ahead."""
        self._cancelled += 1
        if self._cancelled > CANCELLED_KEPT and self._cancelled > len(self._timers) // 2:
            self._timers = [entry for entry in self._timers if entry[2].callback is not None]
            heapq.heapify(self._timers)
            self._cancelled = 0

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Calls `callback` in the first pass after `seconds`."""
        return self.call_at(self.clock() + seconds, callback)

    @contextmanager
    def signals(
        self,
        numbers: Iterable[signal.Signals],
        handler: Callable[[signal.Signals], None],
        *,
        ignored_afterwards: bool = False,
    ) -> Iterator[None]:
        """Delivers these signals to `handler` as ordinary callbacks, until the block ends. Then restores their former
        actions, or ignores them with `ignored_afterwards`. Main thread only."""
        inbox = _SignalInbox(handler, self._child_ended)
        before = {number: signal.signal(number, _ignore) for number in (*numbers, signal.SIGCHLD)}
        old_fd = signal.set_wakeup_fd(inbox.write_fd, warn_on_full_buffer=False)
        self.watch(inbox, read=True)
        try:
            yield
        finally:
            self.watch(inbox)
            signal.set_wakeup_fd(old_fd)
            for number, old in before.items():
                is_ignored = ignored_afterwards and number != signal.SIGCHLD
                signal.signal(number, signal.SIG_IGN if is_ignored else old)
            inbox.close()

    def _child_ended(self) -> None:
        if self.on_child_end is not None:
            self.on_child_end()

    # --- waiting ------------------------------------------------------------------------------------------

    def run_until(self, predicate: Callable[[], bool], deadline: float | None = None) -> bool:
        """Runs passes until the predicate holds (True) or the clock reaches the deadline (False)."""
        assert not self._dispatching, "a callback must not wait"
        while not predicate():
            timeout = None if deadline is None else deadline - self.clock()
            if timeout is not None and timeout <= 0:
                self._pass(0)
                return predicate()
            self._pass(timeout)
        return True

    def wait(self, pending: Pending, awaited: Awaited, timeout_s: float, outgoing: Outgoing | None = None) -> bool:
        """Waits for one answer that comes through `awaited`. `timeout_s` counts from `pending.asked_at`. `outgoing` is
        the writer of the question. Returns False at the timeout.

        `awaited.habit` learns whether to spin first. A spin reads at once: on a shared core the kernel has often run
        the other side within our write. Then it yields the processor and reads again, for `SPIN_S`. After a spin, or
        without one, the wait sleeps on `awaited` alone, for at most `FAIR_S`: meanwhile the host reads nothing from
        extensions that flood it, and the awaited one gets the processor. After that, or if a part of the question is
        not written yet, it waits for all descriptors, and checks `awaited` after every `BACKGROUND_READ` bytes from
        another one.
        """
        assert not self._dispatching, "a callback must not wait"
        if pending.asked_at - self._served_at >= FAIR_S:
            self._pass(0, awaited, pending)
        if not awaited.habit.sleeps:
            self._dispatching = True
            try:
                awaited.take()
            finally:
                self._dispatching = False
            if pending.done:
                return True
        return self._wait_longer(pending, awaited, pending.asked_at + timeout_s, outgoing)

    def _wait_longer(self, pending: Pending, awaited: Awaited, deadline: float, outgoing: Outgoing | None) -> bool:
        """Waits if the answer has not come at once, or if the habit is to sleep first."""
        habit, asked = awaited.habit, pending.asked_at
        habit.left -= 1
        is_measured = not habit.left
        spins = not (habit.begin_measured() if is_measured else habit.sleeps)
        if spins and habit.sleeps:
            self._take(awaited)
        if spins and not pending.done and asked >= self._no_spin_until:
            self._spin(pending, awaited)
        is_sent = outgoing is None or not outgoing.queued
        if is_sent and not pending.done and awaited.sleep(max(0.0, min(FAIR_S, deadline - self.clock()))):
            self._take(awaited)
        while not pending.is_done():
            timeout = deadline - self.clock()
            if timeout <= 0:
                self._pass(0, awaited, pending)
                return pending.is_done()
            self._pass(timeout, awaited, pending)
        if is_measured:
            habit.took(self.clock() - asked)
        return True

    def _take(self, awaited: Awaited) -> None:
        self._dispatching = True
        try:
            awaited.take()
        finally:
            self._dispatching = False

    def _spin(self, pending: Pending, awaited: Awaited) -> None:
        """Yields the processor and reads, in turns, until the answer has come or `SPIN_S` is over."""
        now = self.clock()
        end = now + SPIN_S
        self._dispatching = True
        try:
            while now < end and not pending.done:
                os.sched_yield()
                awaited.take()
                before, now = now, self.clock()
                if now - before > SLOW_YIELD_S:
                    self._no_spin_until = now + NO_SPIN_S
                    return
        finally:
            self._dispatching = False

    def _pass(self, timeout: float | None, awaited: Awaited | None = None, pending: Pending | None = None) -> None:
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
            self._cancelled -= 1
        if self._timers:
            until_timer = max(0.0, self._timers[0][0] - self.clock())
            timeout = until_timer if timeout is None else min(timeout, until_timer)
        ready = self._poller.poll(timeout)
        self.passes += 1
        self.pass_time = self.clock()
        self._dispatching = True
        try:
            if awaited is not None and awaited.has_input():
                awaited.on_readable(FULL_READ)
            watchers = self._watched
            budget = FULL_READ if awaited is None else BACKGROUND_READ
            for watcher, wanted, fd, mask in [(*watchers[fd], fd, mask) for fd, mask in ready if fd in watchers]:
                if pending is not None and pending.done:
                    break
                if watcher is not awaited:
                    # An earlier callback of this pass may have closed the descriptor, or even reused its number.
                    if mask & ~WRITE and wanted & READ and watcher.fileno() == fd:
                        watcher.on_readable(budget)
                    if mask & ~READ and wanted & WRITE and watcher.fileno() == fd:
                        watcher.on_writable()
                    if awaited is not None and awaited.has_input():
                        awaited.on_readable(FULL_READ)
            # Timers come last: after a pause of the whole host, input that arrived meanwhile is not late.
            self._run_timers()
        finally:
            self._dispatching = False
            self._served_at = self.clock()

    def _run_timers(self) -> None:
        while self._timers and self._timers[0][0] <= self.pass_time:
            timer = heapq.heappop(self._timers)[2]
            callback, timer.callback = timer.callback, None
            if callback is None:
                self._cancelled -= 1
            else:
                callback()

    def close(self) -> None:
        self._timers.clear()
        self._watched.clear()
        self._poller.close()


_CHILD_END = bytes([signal.SIGCHLD])


def _ignore(_number: int, _frame: object) -> None:
    """Does nothing: the signal is delivered through the wake-up descriptor."""


class _SignalInbox:
    """Reads the wake-up pipe: each signal is one byte, its number. Many exits make one call of `on_child_end`."""

    def __init__(self, handler: Callable[[signal.Signals], None], on_child_end: Callable[[], None]) -> None:
        self._handler = handler
        self._on_child_end = on_child_end
        self._read_fd, self.write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self.write_fd, False)

    def fileno(self) -> int:
        return self._read_fd

    def on_readable(self, budget: int) -> None:
        try:
            numbers = os.read(self._read_fd, budget)
        except BlockingIOError:
            return
        for number in numbers.replace(_CHILD_END, b""):
            self._handler(signal.Signals(number))
        if _CHILD_END in numbers:
            self._on_child_end()

    def on_writable(self) -> None:
        pass

    def close(self) -> None:
        os.close(self._read_fd)
        os.close(self.write_fd)
