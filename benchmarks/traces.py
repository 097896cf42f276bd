"""The processor time that the trace adds to a run, with the figures of real extensions, beside a bare program that
writes as many bytes with as many calls."""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.interval import of_median
from benchmarks.report import Report, Table, parse
from benchmarks.workshop import Workshop, stop
from supervisor.home.config import Keep
from supervisor.traces.sweep import MARK
from supervisor.traces.trace_file import TraceFile, trace_header

if TYPE_CHECKING:
    from supervisor.supervisor import Supervisor

COUNTS, QUICK_COUNTS = (0, 1, 10, 50), (0, 2)
ROUNDS, QUICK_ROUNDS = 200, 5
FLAGS = {"replay": "run.jsonl", "extensions": ["examples/extensions/guard"], "max_steps": 20}


class Home:
    """A folder for traces, as of a user with earlier runs: nothing has to be swept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "runs").mkdir(parents=True)
        (folder / "runs" / MARK).touch()
        self._numbers = count()

    def trace(self, supervisor: Supervisor) -> tuple[int, Path]:
        """One trace of a run with these extensions. Returns the nanoseconds of processor time, and its file."""
        began = time.process_time_ns()
        trace = TraceFile(self.folder, Keep(), print, trace_header("run", "0.1.0", "/project", FLAGS, session="s"))
        trace.path = trace.path.with_name(f"20261128-191102-{next(self._numbers)}.jsonl")
        trace.figures = lambda: supervisor.snapshot("run", "0.1.0", "/project")
        trace.begin()
        for extension in supervisor.extensions:
            trace.noticed(extension, "started", "ready")
        trace.begun()
        trace.close(None)
        return time.process_time_ns() - began, trace.path

    def bare(self, size: int) -> int:
        """The nanoseconds of a program that writes `size` bytes into a new file with three calls."""
        path = self.folder / "runs" / f"bare-{next(self._numbers)}"
        text = b"x" * (size // 3)
        began = time.process_time_ns()
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        for _ in range(3):
            os.write(fd, text)
        os.close(fd)
        return time.process_time_ns() - began


def measure(report: Report, workshop: Workshop, counts: tuple[int, ...], rounds: int) -> None:
    columns = ("extensions", "CPU ms of a run", "95 % from", "to", "bare ms", "bytes")
    table = Table("one trace, from its first to its last line", columns)
    for number in counts:
        report.progress(f"{number} extensions")
        home = Home(workshop.folder / f"home-{number}")
        supervisor = workshop.started(workshop.bystanders(number))
        ours, bare, size = [], [], 0
        for turn in range(rounds + 1):
            took, path = home.trace(supervisor)
            size = path.stat().st_size
            floor = home.bare(size)
            if turn:
                ours.append(took / 1e6)
                bare.append(floor / 1e6)
        stop(supervisor)
        middle, low, high = of_median(ours)
        table.add(number, middle, low, high, of_median(bare).middle, size)
    report.show(table)


def main(argv: list[str] | None = None) -> None:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    counts, rounds = (QUICK_COUNTS, QUICK_ROUNDS) if options.quick else (COUNTS, ROUNDS)
    with Workshop() as workshop:
        measure(report, workshop, counts, rounds)
    report.finish()


if __name__ == "__main__":
    main()
