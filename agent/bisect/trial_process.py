"""Runs the process of one trial, and the command that checks it. No process outlives it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from agent.bisect.outcome import RunOutcome, TrialEnding, outcome_of
from agent.trial.plan import VARIABLE
from agent.trial.report import read_report
from supervisor.home.scratch import scratch_folder
from supervisor.loop.loop import Loop, stop_signals
from supervisor.process.child import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from agent.trial.plan import TrialPlan
    from supervisor.process.child import ExitStatus

KEPT = 64 * 1024 * 1024
"""Bytes of output that are kept at least; of more output of one process, the first part is dropped."""
STOP_S = 10.0
"""Seconds that a run has to end once it was told to, before SIGKILL."""
SPARE_S = 5.0
"""Seconds after which a run ends itself that nobody ends: bisect itself was killed."""
STATUS = "ZOT_EXIT_STATUS"
"""The variable with the exit status of the run, for the command that checks it."""


class CheckEnding(NamedTuple):
    """How the command has ended that checks a run."""

    status: int | None
    """The exit status, or minus the number of the signal; None if it took too long."""
    said: str
    """The last line of its output."""


class TrialProcesses:
    """The processes of trials, as a context manager: one at a time, each with the environment of this process. Ctrl-C
    and the other signals that ask to end raise `KeyboardInterrupt` once the running one has ended."""

    def __enter__(self) -> Self:
        self._loop = Loop()
        self._interrupted = False
        self._scratch = scratch_folder("bisect")
        self._folder = Path(self._scratch.__enter__())
        self._signals = self._loop.signals(stop_signals(), self._on_signal)
        self._signals.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._signals.__exit__(kind, error, trace)
        self._scratch.__exit__(kind, error, trace)
        self._loop.close()

    def _on_signal(self, _number: signal.Signals) -> None:
        self._interrupted = True

    @property
    def report(self) -> Path:
        """The file for the report of the next trial."""
        return self._folder / "report.jsonl"

    def run(self, argv: Sequence[str], plan: TrialPlan, most_s: float) -> RunOutcome:
        """Runs a trial, and ends it after `most_s` seconds. Raises `SpawnError`."""
        file = self._folder / "trial.json"
        file.write_bytes(msgspec.json.encode(plan))
        self.report.unlink(missing_ok=True)
        process = _Process(self._loop, argv, {**os.environ, VARIABLE: str(file)})
        was_ended = not self._wait(process, most_s)
        if was_ended:
            process.ask_to_end()
            if not self._loop.run_until(lambda: process.exit is not None, self._loop.clock() + STOP_S):
                process.kill()
        status = self._collect(process)
        ending = TrialEnding(status.code, process.ended_at - process.began_at, was_ended)
        return outcome_of(ending, bytes(process.stdout), bytes(process.stderr), read_report(self.report))

    def check(self, command: str, outcome: RunOutcome, stdout: bytes, most_s: float) -> CheckEnding:
        """Runs the command that checks a run, with the run's output on stdin. Raises `SpawnError`."""
        env = {**os.environ, STATUS: str(outcome.ending.exit_code)}
        process = _Process(self._loop, ["/bin/sh", "-c", command], env, given=stdout)
        in_time = self._wait(process, most_s)
        process.kill()
        status = self._collect(process)
        process.kill_group()
        lines = bytes(process.stdout + process.stderr).decode("utf-8", "replace").strip().splitlines()
        return CheckEnding(status.code if in_time else None, lines[-1].strip() if lines else "")

    def _wait(self, process: _Process, most_s: float) -> bool:
        """Waits for the end of the process; False if it takes longer. Raises KeyboardInterrupt once it has ended."""
        self._loop.run_until(lambda: self._interrupted or process.exit is not None, process.began_at + most_s)
        if self._interrupted:
            process.ask_to_end()
            if not self._loop.run_until(lambda: process.exit is not None, self._loop.clock() + STOP_S):
                process.kill()
            self._collect(process)
            raise KeyboardInterrupt
        return process.exit is not None

    def _collect(self, process: _Process) -> ExitStatus:
        self._loop.run_until(lambda: process.exit is not None)
        assert process.exit is not None
        return process.exit


class _Process:
    """A child in a session of its own, with what it writes."""

    def __init__(self, loop: Loop, argv: Sequence[str], env: Mapping[str, str], given: bytes | None = None) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.exit: ExitStatus | None = None
        self.began_at = self.ended_at = loop.clock()
        self._loop = loop
        self._child = Child(
            loop,
            argv,
            cwd=os.getcwd(),
            env=env,
            on_stdout=_kept_in(self.stdout),
            on_stderr=_kept_in(self.stderr),
            on_exit=self._on_exit,
            stdin=given is not None,
            outbox_limit=2 * KEPT,
        )
        if given is not None and self._child.stdin is not None:
            self._child.send(given)
            self._child.stdin.end()

    def ask_to_end(self) -> None:
        """Makes a run of zot end at once and in order: two signals mean that its children are killed unasked."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._send(number)

    def kill(self) -> None:
        """Kills the process and its group. Does nothing once it has ended."""
        self._child.kill_group(signal.SIGKILL)

    def kill_group(self) -> None:
        """Kills what the process has left in its group. While the group has a member, its number is no other's."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.exit is None:
            os.kill(self._child.pid, number)

    def _on_exit(self, status: ExitStatus) -> None:
        self.exit = status
        self.ended_at = self._loop.clock()


def _kept_in(buffer: bytearray) -> Callable[[bytes], None]:
    def keep(data: bytes) -> None:
        buffer.extend(data)
        if len(buffer) > 2 * KEPT:  # the result comes last
            del buffer[:KEPT]

    return keep
