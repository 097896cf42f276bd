"""One session floods a shared extension: how long calls of another session take meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, Self

from benchmarks.report import Table
from benchmarks.samples import Rounds
from benchmarks.sharing.hop import NAME, echo, shared_echo
from benchmarks.sharing.runs import TOOL_CALL, RawRun
from benchmarks.sharing.stack import PATIENCE_S, Stack
from benchmarks.workshop import CHILDREN, ROOT

if TYPE_CHECKING:
    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.sharing.stack import ZotHost
    from benchmarks.workshop import Workshop

ROUNDS, SAMPLES = 10, 1000
QUICK_ROUNDS, QUICK_SAMPLES = 1, 20
MOST = 3.0
"""Times the quiet p99."""
GAPS = {"back to back": 0.0, "every 2 ms": 2e-3}
FLOODS = {"64 calls at once": 64, "as many as go": 0}


def flood(report: Report, shop: Workshop, claims: Claims, *, quick: bool) -> None:
    rounds, samples = (QUICK_ROUNDS, QUICK_SAMPLES) if quick else (ROUNDS, SAMPLES)
    columns = ("", "p50 µs", "p99 µs", "p99 of quiet", "calls/s of the flood", "samples")
    for language, argv in {"C": echo(shop), "Python": shop.python(CHILDREN / "echo.py", NAME)}.items():
        stack = Stack(shop.folder / language)
        with ExitStack() as ends, stack.host(*shared_echo(stack, argv)) as host:
            run = RawRun(host.attach_path, "quiet", extension=NAME)
            ends.callback(run.close)
            floods = {what: ends.enter_context(Flood(host, at_once)) for what, at_once in FLOODS.items()}
            for pace, gap_s in GAPS.items():
                found = {what: Rounds() for what in ("quiet", *floods)}
                rates: dict[str, list[float]] = {what: [] for what in floods}
                for number in range(rounds + (not quick)):
                    report.progress(f"flood, {language}, {pace}, round {number}")
                    for what, mine in found.items():
                        if what in floods:
                            floods[what].start()
                        taken = run.measure(run.line(TOOL_CALL), samples // 4 if gap_s else samples, gap_s)
                        if what in floods:
                            rates[what].append(floods[what].stop())
                        if number or quick:
                            mine.add(taken)
                table = Table(f"calls of one session while another floods, {language}, {pace}", columns)
                for what, mine in found.items():
                    p50, _, p99 = mine.figures()
                    ratio = mine.ratio_to(found["quiet"], 2)
                    table.add(what, p50, p99, ratio, median(rates[what]) if what in rates else None, mine.count)
                    if what in floods:
                        claim = f"{language}, {pace}, {what}: p99 at most {MOST:g} times quiet"
                        claims.add(claim, f"{ratio:.2f}", None if quick else ratio <= MOST)
                report.show(table)


class Flood:
    """A process that floods, as a context manager; see `flood_session`."""

    def __init__(self, host: ZotHost, at_once: int) -> None:
        argv = [sys.executable, "-m", "benchmarks.sharing.flood_session", str(host.attach_path), NAME, str(at_once)]
        self._process = subprocess.Popen(
            argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._say()
        self._began = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate(timeout=PATIENCE_S)

    def _say(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode()

    def _order(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def start(self) -> None:
        self._began = time.monotonic()
        self._order()

    def stop(self) -> float:
        """Returns its calls for each second."""
        took = time.monotonic() - self._began
        self._order()
        return int(self._say()) / took
