"""Runs per second and processor time per run: of a batch, of `xargs -P` with single programs, and of the floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.batch.place import Api, Place, Used
from benchmarks.batch.rounds import Spread
from benchmarks.report import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.claims import Claims
    from benchmarks.report import Report

JOBS, QUICK_JOBS = (1, 2, 8, 32), (2,)
ROUNDS, QUICK_ROUNDS = 3, 1
RUNS, QUICK_RUNS = 200, 4
FORKS = 150
DELAY_S = 0.2
CPU_OF_COLD, REPLAYED_CPU_OF_COLD, CPU_TIMES = 25.0, 10.0, 1.3
"""The least CPU of a cold run over a batch's, live with leased workers and replayed; the most CPU over the floor."""
JUDGED = 8
"""Jobs for which the CPU is judged."""


def rates(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    """Live and replayed, beside the same as programs of their own."""
    all_jobs, rounds, runs = (QUICK_JOBS, QUICK_ROUNDS, QUICK_RUNS) if quick else (JOBS, ROUNDS, RUNS)
    with Api() as api:
        for kind, flags, least in (
            ("live", place.live(api), CPU_OF_COLD),
            ("replayed", place.replayed(), REPLAYED_CPU_OF_COLD),
        ):
            if not quick:
                place.cold(flags, 2, 2)  # compiles, for both
            found: dict[int, list[tuple[Used, Used]]] = {jobs: [] for jobs in all_jobs}
            for number in range(rounds):
                for jobs in all_jobs:
                    report.progress(f"{kind}, {jobs} jobs, round {number + 1} of {rounds}")
                    cold = place.cold(flags, max(2 if quick else 6, jobs), jobs)
                    found[jobs].append((cold, place.batch(flags, runs, jobs)))
            _show_rates(report, claims, kind, found, least, judged=not quick)


def _show_rates(
    report: Report, claims: Claims, kind: str, found: dict[int, list[tuple[Used, Used]]], least: float, *, judged: bool
) -> None:
    columns = (
        "jobs", "cold runs/s", "batch runs/s", "times", "lowest", "highest", "cold CPU ms", "batch CPU ms",
        "cold / batch", "lowest", "highest", "first s",
    )  # fmt: skip
    table = Table(f"{kind}: runs per second, and CPU per run", columns)
    for jobs, pairs in found.items():
        cold, batch = [cold for cold, _ in pairs], [batch for _, batch in pairs]
        times = Spread.of_ratios([used.rate for used in batch], [used.rate for used in cold])
        cpu = [Spread([used.cpu_s * 1e3 for used in side]).middle for side in (cold, batch)]
        speed = [Spread([used.rate for used in side]).middle for side in (cold, batch)]
        fewer = Spread.of_ratios([used.cpu_s for used in cold], [used.cpu_s for used in batch])
        table.add(jobs, *speed, *times.cells, *cpu, *fewer.cells, Spread([used.start_s for used in batch]).middle)
        claim = f"{kind}, {jobs} jobs: a cold run takes at least {least:g} times the CPU of a batch's"
        claims.add(claim, str(fewer), fewer.middle >= least if judged and jobs == JUDGED else None)
    report.show(table)


def floor(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    """Processor time of a run over a fork, one request with the SDK, and the end."""
    runs, forks = (QUICK_RUNS, QUICK_RUNS) if quick else (RUNS, FORKS)
    names = ("floor: import anthropic", "floor: the SDK as the worker has it")
    found: dict[str, list[float]] = {}
    all_jobs = QUICK_JOBS if quick else JOBS
    with Api() as api:
        for number in range(QUICK_ROUNDS if quick else ROUNDS):
            report.progress(f"the floor, round {number + 1}")
            for name, sdk in zip(names, ("whole", "filtered"), strict=True):
                forked = place.floor(api.url, forks, 2, sdk)
                found.setdefault(name, []).append(float(forked["cpu_s"]) / forks * 1e3)
            for jobs in all_jobs:
                used = place.batch(place.live(api), runs, jobs)
                found.setdefault(f"a run of a batch, {jobs} jobs", []).append(used.cpu_s * 1e3)
    table = Table("CPU per run", ("", "median ms", "of the floor", "lowest", "highest", "of the filtered floor"))
    for name, took in found.items():
        ratio = Spread.of_ratios(took, found[names[0]])
        table.add(name, Spread(took).middle, *ratio.cells, Spread.of_ratios(took, found[names[1]]).middle)
        if name not in names:
            claim = f"{name}: at most {CPU_TIMES:g} times the CPU of the floor"
            claims.add(claim, str(ratio), None if quick else ratio.middle <= CPU_TIMES)
    report.show(table)


def delay(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    """A server that answers after 200 ms: how long a place of the batch is busy with a run beyond that."""
    all_jobs: Sequence[int] = QUICK_JOBS if quick else JOBS
    rounds = QUICK_ROUNDS if quick else ROUNDS
    found: dict[int, list[tuple[float, float, float]]] = {jobs: [] for jobs in all_jobs}
    with Api(DELAY_S) as api:
        flags = place.live(api)
        for number in range(rounds):
            for jobs in all_jobs:
                report.progress(f"a slow server, {jobs} jobs, round {number + 1} of {rounds}")
                cold = place.cold(flags, max(2 if quick else 6, jobs), jobs).rate
                rate = place.batch(flags, QUICK_RUNS if quick else min(RUNS, 20 * jobs), jobs).rate
                found[jobs].append((jobs / cold - DELAY_S, jobs / rate - DELAY_S, rate))
    table = Table(
        "a server that answers after 200 ms: time above its own, per run",
        ("jobs", "cold ms", "batch ms", "lowest", "highest", "batch runs/s"),
    )
    for jobs, rows in found.items():
        cold_s, above_s, rates_ = zip(*rows, strict=True)
        above = Spread([value * 1e3 for value in above_s])
        table.add(jobs, Spread(cold_s).middle * 1e3, *above.cells, Spread(rates_).middle)
        less = Spread.of_ratios(cold_s, above_s)
        claims.add(f"200 ms, {jobs} jobs: the time above the server's, cold over batch", str(less), None)
    report.show(table)
