"""Runs targets in child processes: so a crash or a hang of one input ends neither the run nor its report."""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
import time
import traceback
import warnings
from typing import TYPE_CHECKING

import msgspec

from tests.fuzz.feeder import failure, serve, workplace
from tests.fuzz.mutation import Mutator
from tests.fuzz.target import Failure, Figures

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.fuzz.target import Target

HANG_S = 60.0
"""Seconds of wall clock for one input, after which its process is ended."""
LOOKED_S = 0.5


class Outcome(msgspec.Struct):
    """The result of the run of one target."""

    target: str
    inputs: int = 0
    cpu_s: float = 0.0
    growth: int = 0
    failures: list[Failure] = msgspec.field(default_factory=list)

    @property
    def per_second(self) -> float:
        return self.inputs / self.cpu_s if self.cpu_s else 0.0


class _Child:
    """A process that feeds one target."""

    def __init__(self, target: Target, seed: int, first: int, end: int, kept: Path, hang_s: float) -> None:
        self.target = target
        self.outcome = Outcome(target.name)
        self._seed = seed
        self._end = end
        self._kept = kept
        self._hang_s = hang_s
        self._tried_again = -1
        self._progress = mmap.mmap(-1, 8)
        self._start(first)

    def _start(self, first: int) -> None:
        self._first = first
        self._number = -1
        self._since = time.monotonic()
        self._said = b""
        self._place = workplace()
        folder = self._place.__enter__()
        self.fd, out = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # pytest-xdist has a thread
            self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self.fd)
                _use_null()
                serve(self.target, self._seed, first, self._end - first, self._progress, out, self._kept, folder)
                status = 0
            except BaseException:
                os.write(out, b"!" + traceback.format_exc().encode().replace(b"\n", b"\r") + b"\n")
            finally:
                os._exit(status)
        os.close(out)

    def read(self) -> bool:
        """Takes what the child says. Returns whether the target is done."""
        if data := os.read(self.fd, 1 << 16):
            self._said += data
            return False
        status = self._collect()
        figures = self._judge_said()
        if figures is not None:
            self.outcome.inputs += figures.inputs
            self.outcome.cpu_s += figures.cpu_s
            self.outcome.growth = max(self.outcome.growth, figures.growth)
            return True
        return self._go_on_behind(f"ended with {os.waitstatus_to_exitcode(status)}", "crash")

    def end(self) -> None:
        """Ends the child."""
        os.kill(self.pid, signal.SIGKILL)
        self._collect()

    def _collect(self) -> int:
        os.close(self.fd)
        _, status = os.waitpid(self.pid, 0)
        self._place.__exit__(None, None, None)
        return status

    def _judge_said(self) -> Figures | None:
        *lines, _ = self._said.split(b"\n")
        for line in lines:
            if line.startswith(b"!"):
                raise RuntimeError(f"{self.target.name} cannot run:\n" + line[1:].decode().replace("\r", "\n"))
            if b'"mark":' in line:
                self.outcome.failures.append(msgspec.json.decode(line, type=Failure))
            else:
                return msgspec.json.decode(line, type=Figures)
        return None

    def look(self) -> bool:
        """Ends a child that hangs. Returns whether the target is done."""
        number = int.from_bytes(self._progress[:8], "little")
        now = time.monotonic()
        if number != self._number:
            self._number, self._since = number, now
            return False
        if now - self._since < self._hang_s:
            return False
        self.end()
        self._judge_said()
        if number != self._tried_again:  # the machine may have given the child no time
            self._tried_again = number
            self.outcome.inputs += number - self._first
            self._start(number)
            return False
        return self._go_on_behind(f"no end within {self._hang_s:g} s, twice", "hang")

    def _go_on_behind(self, why: str, kind: str) -> bool:
        """Reports the input that ended the child, and starts another child behind it."""
        number = int.from_bytes(self._progress[:8], "little")
        data = Mutator(self.target.seeds()).input(self._seed, number)
        found = failure(self.target.name, self._seed, number, data, kind, kind, why, self._kept)
        is_new = kind not in [each.mark for each in self.outcome.failures]
        self.outcome.failures += [found] if is_new else []
        self.outcome.inputs += number + 1 - self._first
        if number + 1 >= self._end or len(self.outcome.failures) > 20:
            return True
        self._start(number + 1)
        return False


def run(
    targets: Iterable[Target], *, seed: int, inputs: dict[str, int], kept: Path, jobs: int = 1, hang_s: float = HANG_S
) -> Iterable[Outcome]:
    """Runs each target with so many inputs; at most `jobs` at the same time. Yields each outcome when it is there."""
    waiting = list(targets)
    running: dict[int, _Child] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                target = waiting.pop(0)
                child = _Child(target, seed, 0, inputs[target.name], kept, hang_s)
                running[child.fd] = child
            ready, _, _ = select.select(list(running), [], [], LOOKED_S)
            for fd, child in list(running.items()):
                del running[fd]
                is_done = child.read() if fd in ready else child.look()
                if is_done:
                    yield child.outcome
                else:
                    running[child.fd] = child
    finally:
        for child in running.values():
            child.end()


def _use_null() -> None:
    """Nothing that the product prints goes to the terminal."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
