"""Memory that one more run takes while the server holds all answers."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import TYPE_CHECKING

from benchmarks.batch.place import TIMEOUT_S, Api, Place, tree
from benchmarks.batch.rounds import Spread
from benchmarks.report import Table
from supervisor.template.memory import uss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.claims import Claims
    from benchmarks.report import Report

FEW, MANY = 8, 32
QUICK_FEW, QUICK_MANY = 2, 4
COLD = 4
ANSWERED = 4
"""Requests for each job."""
DELAY_S, QUICK_DELAY_S = 2.0, 0.2
"""Before an answer: long, so that all requests are open at the same time and the batch sends more and more."""
ROUNDS = 2
MIB = 2**20
MOST = 0.25
"""Of the memory of a cold run."""


def memory(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    few, many = (QUICK_FEW, QUICK_MANY) if quick else (FEW, MANY)
    extra: list[float] = []
    cold: list[float] = []
    for number in range(1 if quick else ROUNDS):
        report.progress(f"memory, round {number + 1}")
        sizes = {jobs: _of_batch(place, jobs, QUICK_DELAY_S if quick else DELAY_S) for jobs in (few, many)}
        extra.append((sizes[many] - sizes[few]) / (many - few) / MIB)
        cold.append(_of_cold(place, 1 if quick else COLD) / MIB)
    table = Table("memory that no other process has (USS), MiB", ("", "median", "lowest", "highest"))
    table.add("a run as a program of its own", *Spread(cold).cells)
    table.add(f"one more run of a batch, from {few} to {many} jobs", *Spread(extra).cells)
    report.show(table)
    ratio = Spread.of_ratios(extra, cold)
    claim = f"one more run takes at most {MOST:g} of the memory of a cold one"
    claims.add(claim, str(ratio), None if quick else ratio.middle <= MOST)


def _of_batch(place: Place, jobs: int, delay_s: float) -> int:
    """The first requests are answered: a batch sends few at the same time until answers come."""
    answered = ANSWERED * jobs
    with Api(delay_s, answered) as api:
        argv = place.batch_argv(place.tasks(answered + jobs), place.rundir(), place.live(api), jobs)
        return _held([_started(place, argv)], api, answered + jobs)


def _of_cold(place: Place, runs: int) -> float:
    """Of one run, while some others are there that have the same files in memory."""
    with Api(most=0) as api:
        argv = [*place.zot, "--json", "--no-session", *place.live(api), "hi"]
        return _held([_started(place, argv) for _ in range(runs)], api, runs) / runs


def _started(place: Place, argv: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, cwd=place.project, env=place.env, stdin=-3, stdout=-3, stderr=-3)


def _held(programs: list[subprocess.Popen[bytes]], api: Api, requests: int) -> int:
    """Bytes of all processes once `requests` requests wait for their answers. Ends the programs."""
    try:
        api.wait_for(requests)
        return sum(uss(pid) or 0 for program in programs for pid in tree(program.pid))
    finally:
        for program in programs:
            _end(program)


def _end(program: subprocess.Popen[bytes]) -> None:
    """A batch drains at the first signal and stops at the second; two at once may count as one."""
    until = time.monotonic() + TIMEOUT_S
    while program.poll() is None and time.monotonic() < until:
        program.send_signal(signal.SIGTERM)
        time.sleep(0.5)
    program.kill()
    program.wait()
