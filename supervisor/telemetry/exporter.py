"""The host's end of the process that exports telemetry. Nothing here waits but `close`, for `FLUSH_S` at most."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from msgspec import DecodeError

from supervisor.loop.rate_limit import TokenBucket
from supervisor.process.child import Child, ExitStatus, SpawnError
from supervisor.process.exit_cause import StderrTail
from supervisor.telemetry.early_start import exporter_command, exporter_environment, take_early
from supervisor.telemetry.lines import Failed, Order, Sent, decode_answer, encode
from wire.framing import LineSplitter, Oversize
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.loop.loop import Loop

FLUSH_S = 2.0
"""Maximum of seconds from the request to end until the process has ended, or is killed."""
OWN_S = 1.7
"""The part of them in which the process ends itself."""
KILL_S = 1.0
OUTBOX_LIMIT = 8 * 1024 * 1024
"""Maximum of bytes that wait for the process. Further spans are lost, and counted."""
LINE_LIMIT = 64 * 1024
SHOWN = 200
"""Maximum number of characters of a reason."""
CAUSES = 10
"""Maximum number of causes that a host tells while it runs."""
STARTS, AGAIN_S = 2, 60.0
"""Maximum number of starts at once, and seconds until there may be another one."""


class Exporter:
    """Starts the process, and hands it lines. `say` gets a line for the user about failures: at the end at most one,
    with the number of lost spans; with `is_lasting` also each new cause at once."""

    def __init__(
        self, loop: Loop, order: Order, environ: Mapping[str, str], say: Callable[[str], None], *, is_lasting: bool
    ) -> None:
        self.child: Child | None = None
        self._loop = loop
        self._order = encode(order)
        self._env = exporter_environment(environ)
        self._say = say
        self._is_lasting = is_lasting
        self._is_closed = False
        self._starts = TokenBucket(loop.clock(), STARTS, 1 / AGAIN_S)
        self._splitter = LineSplitter(LINE_LIMIT)
        self._last_words = StderrTail()
        self._shows_console = "console" in (order.traces, order.metrics)
        self._lost = 0
        """Number of spans so far, minus those that a collector has taken."""
        self._failures: dict[str, Failed] = {}
        """The first failure of each signal."""
        self._told: set[tuple[str, str]] = set()
        loop.call_later(0, self._start_if_needed)  # a host with cgroups has no child before it has prepared them

    def send(self, line: bytes, spans: int = 0) -> None:
        """Hands over a line, LF included, with this number of spans. A line that cannot be handed over is lost."""
        self._lost += spans
        self._start_if_needed()
        if self.child is not None and not self.child.send(line):
            self._failed(Failed("traces", "", "the process that exports them does not read fast enough"))

    def _start_if_needed(self) -> None:
        if self.child is None and not self._is_closed and self._starts.admits(self._loop.clock()):
            self._start()

    def _start(self) -> None:
        self._splitter = LineSplitter(LINE_LIMIT)
        self._last_words = StderrTail()
        on_stderr = None if self._shows_console else self._last_words.write
        try:
            self.child = Child(
                self._loop, exporter_command(), cwd="/", env=self._env, outbox_limit=OUTBOX_LIMIT,
                on_stdout=self._on_stdout, on_stderr=on_stderr, stderr=2, on_exit=self._on_exit, started=take_early(),
            )  # fmt: skip
        except SpawnError as error:
            self._failed(Failed("traces", "", str(error)))
            return
        self._loop.outliving.add(self.child.pid)
        self.child.send(self._order)

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            try:
                said = None if isinstance(line, Oversize) else decode_answer(bytes(line))
            except DecodeError:
                said = Failed("traces", "", "the process that exports them has written something else")
            if isinstance(said, Sent):
                self._lost -= said.count if said.signal == "traces" else 0
            elif said is not None:
                self._failed(said)

    def _failed(self, failed: Failed) -> None:
        self._failures.setdefault(failed.signal, failed)
        cause = failed.where, failed.reason
        if self._is_lasting and not self._is_closed and cause not in self._told and len(self._told) < CAUSES:
            self._told.add(cause)
            self._say(f"{_words(failed)}; {failed.signal} are lost while that lasts")

    def _on_exit(self, status: ExitStatus) -> None:
        if self.child is not None:
            self._loop.outliving.discard(self.child.pid)
            self.child = None
        if not (self._is_closed and status.code in (0, -signal.SIGKILL)):
            said = self._last_words.last_line()
            reason = f"the process that exports them has ended ({status})"
            self._failed(Failed("traces", "", f"{reason}: {said}" if said else reason))

    def close(self, *, at_once: bool = False) -> None:
        """Has the process export what it has, and end; it is killed after `FLUSH_S` seconds, or at once."""
        if self._is_closed:
            return
        self._is_closed = True
        child = self.child
        if child is not None and child.stdin is not None:
            child.stdin.end()
            if not at_once:
                self._loop.run_until(lambda: not child.is_running, self._loop.clock() + FLUSH_S)
            child.kill_group(signal.SIGKILL)
            self._loop.run_until(lambda: not child.is_running, self._loop.clock() + KILL_S)
        if (line := self._farewell()) and not at_once:
            self._say(line)

    def _farewell(self) -> str:
        """The line at the end; "" if all has arrived, or all causes are told."""
        traces = self._failures.get("traces")
        if self._lost > 0:
            failed = traces or Failed("traces", "", f"the collector has not taken all within {FLUSH_S:g} s")
            is_told = (failed.where, failed.reason) in self._told
            return "" if is_told else f"{_words(failed)}; {counted(self._lost, 'span is', 'spans are')} lost"
        if (metrics := self._failures.get("metrics")) is not None and (metrics.where, metrics.reason) not in self._told:
            return f"{_words(metrics)}; metrics are lost (OTEL_METRICS_EXPORTER=none sends none)"
        return ""


def _words(failed: Failed) -> str:
    where = f"{failed.where}: " if failed.where else ""
    return one_line(f"otel: {where}{failed.reason}", SHOWN)
