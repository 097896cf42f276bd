"""Finds workers that hang, by unanswered requests or by pings; logs their threads, profiles them, then ends them."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.restart import EndCause
from supervisor.process.table import read_process
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import Notices
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop
    from supervisor.profile.outcome import Outcome
    from supervisor.profile.stall_profiles import StallProfiles
    from wire.manifest import Manifest

MIB = 1024 * 1024
DUMP_S = 0.5
"""Seconds from SIGQUIT until a hanging process is ended: time for the process to write its stacks to stderr."""
IDS_SHOWN = 20
LINES_LOGGED = 20
"""Maximum number of lines of its stderr that the log repeats, so that they stand together with the reason."""
THREADS_SHOWN = 20
THREAD_STATES = {
    "R": "running", "S": "sleeping", "D": "in an uninterruptible wait", "T": "stopped by a signal",
    "t": "stopped by a debugger", "Z": "ended",
}  # fmt: skip


class StallHandler:
    """Ends hanging workers of one generation."""

    def __init__(
        self, loop: Loop, profiles: StallProfiles, manifest: Manifest, log: ExtensionLog, notices: Notices
    ) -> None:
        self._loop = loop
        self._profiles = profiles
        self._manifest = manifest
        self._log = log
        self._notices = notices
        self._reasons: dict[Worker, str] = {}
        """How each hanging worker was found. An entry stays until `reason` is called for the worker."""

    def timed_out(self, worker: Worker) -> None:
        """Called when a request to this worker has timed out. Ends the worker after `stall_after` timeouts in a row."""
        row = worker.requests.timeouts_in_row
        if row >= self._manifest.stall_after:
            self.end(worker, f"{counted(row, 'request')} in a row without an answer in time")

    def end(self, worker: Worker, why: str) -> None:
        """Gives the worker up at once, or after its profile. With `dump_on_stall` the worker then gets SIGQUIT and is
        given up `DUMP_S` seconds later."""
        if worker in self._reasons or not worker.state.is_up:
            return
        self._reasons[worker] = why
        self._log.add(f"hangs: {why}")
        for line in evidence(worker):
            self._log.add(line)
        for line in worker.last_words.tail.shown(LINES_LOGGED):
            self._log.add(f"its stderr before that: {line}")

        def profiled(outcome: Outcome) -> None:
            self._tell(outcome)
            self._dump_and_end(worker, why)

        if self._wants_profile and worker.child is not None:
            self._profiles.begin(self._manifest.name, worker.child.identity, profiled)
        else:
            self._dump_and_end(worker, why)

    @property
    def _wants_profile(self) -> bool:
        return bool(self._profiles.trace) and (self._manifest.profile_on_stall or self._profiles.always)

    def _tell(self, outcome: Outcome) -> None:
        if (profile := outcome.profile) is None:
            self._notices.warn("profile", f"no profile of the hang: {outcome.error}")
            return
        self._log.add(f"profile of the hang: {profile.file}: {profile.headline}")
        self._notices.tell("warning", f"hangs: pid {profile.pid}, {profile.headline}", f" (profile: {profile.file})")

    def _dump_and_end(self, worker: Worker, why: str) -> None:
        def give_up() -> None:
            worker.give_up(f"it hangs: {why}", EndCause.STALLED)

        if self._manifest.dump_on_stall:
            worker.kill(signal.SIGQUIT)
            self._loop.call_later(DUMP_S, give_up)
        else:
            give_up()

    def reason(self, worker: Worker) -> str | None:
        """Returns how a worker that has ended was found hanging, also if SIGQUIT ended it within `DUMP_S`; None for
        other workers, and at a second call."""
        return self._reasons.pop(worker, None)


def evidence(worker: Worker) -> Iterator[str]:
    """Yields lines for the log: the pending requests, the size and CPU time of the process, and the kernel's data about
    each thread."""
    ids = list(worker.requests.pending)
    if ids:
        more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
        yield f"pending: {', '.join(ids[:IDS_SHOWN])}{more}"
    if worker.pid is None or (process := read_process(worker.pid)) is None:
        return
    yield f"pid {worker.pid}, rss {process.rss / MIB:.1f} MiB, cpu {process.cpu_s:.2f} s, {process.threads} threads"
    yield from describe_threads(worker.pid)


def describe_threads(pid: int) -> Iterator[str]:
    """Yields one line for each of the first `THREADS_SHOWN` threads; no line if the process is gone."""
    folder = f"/proc/{pid}/task"
    try:
        names = os.listdir(folder)
    except OSError:
        return  # gone, or a system without /proc
    for name in sorted(names, key=int)[:THREADS_SHOWN]:
        try:
            with open(f"{folder}/{name}/stat", "rb") as file:
                text = file.read()
        except OSError:
            continue
        command = text[text.index(b"(") + 1 : text.rindex(b")")].decode("utf-8", "replace")
        state = text[text.rindex(b")") + 2 : text.rindex(b")") + 3].decode()
        yield f"thread {name} {command}: {THREAD_STATES.get(state, state)}{_waits_in(folder, name)}"


def _waits_in(folder: str, thread: str) -> str:
    try:
        with open(f"{folder}/{thread}/wchan") as file:
            place = file.read().strip()
    except OSError:
        return ""
    return f" in {place}" if place not in ("", "0") else ""


class Heartbeat:
    """The watchdog: sends a ping every `interval_s` seconds while the worker is ready. If the pong is missing when the
    next ping is due, calls `on_stall` once and stops. Ends with the worker."""

    def __init__(self, loop: Loop, worker: Worker, interval_s: float, on_stall: Callable[[Worker, str], None]) -> None:
        self._loop = loop
        self._worker = worker
        self._interval_s = interval_s
        self._on_stall = on_stall
        self._sent = 0
        self._answered = 0
        worker.channel.on_pong = self._on_pong
        self._ping()

    def _ping(self) -> None:
        if self._worker.state is not WorkerState.READY:
            return
        if self._answered != self._sent:
            self._on_stall(self._worker, f"no pong within {self._interval_s:g} s of a ping")
            return
        if self._worker.requests.ping(f"ping-{self._sent + 1}"):
            self._sent += 1
        self._worker.restart_timer(self._loop.clock() + self._interval_s, self._ping)

    def _on_pong(self, ping_id: str) -> None:
        if ping_id == f"ping-{self._sent}":
            self._answered = self._sent
