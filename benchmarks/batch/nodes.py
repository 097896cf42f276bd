"""A batch on one node of a Ray cluster beside the same on this machine: the time of a run above the local engine's.

The node is this machine, so both have the same processors. Ray's own start is left out, as that of the batch is.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from benchmarks.batch.place import Api, Place
from benchmarks.batch.rounds import Spread
from benchmarks.report import Table
from tests.support.ray_cluster import RayCluster

if TYPE_CHECKING:
    from benchmarks.claims import Claims
    from benchmarks.report import Report

JOBS, QUICK_JOBS = (1, 2, 8), (2,)
ROUNDS, QUICK_ROUNDS = 5, 1
RUNS, QUICK_RUNS = 100, 4
MOST_MS = 25.0
"""Of a run, above the local engine."""


def nodes(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    pinned = len(os.sched_getaffinity(0))
    table = Table(
        f"one node of a Ray cluster: time of a run, on {pinned} processors",
        ("jobs", "local ms", "node ms", "above ms", "lowest", "highest"),
    )
    if importlib.util.find_spec("ray") is None:
        report.progress("nodes: left out, as there is no Ray here: pip install 'pyzot[ray]'")
        report.show(table)
        return
    all_jobs, rounds, runs = (QUICK_JOBS, QUICK_ROUNDS, QUICK_RUNS) if quick else (JOBS, ROUNDS, RUNS)
    local: dict[int, list[float]] = {jobs: [] for jobs in all_jobs}
    away: dict[int, list[float]] = {jobs: [] for jobs in all_jobs}
    home = {"ANTHROPIC_API_KEY": "k", "ZOT_HOME": place.env["ZOT_HOME"]}
    with Api() as api, RayCluster(1, more_env=home) as cluster:
        live = ["--provider", "anthropic", "--base-url", api.url]
        ray = {name: value for name, value in cluster.env.items() if name.startswith("RAY_")}
        for number in range(rounds):
            for jobs in all_jobs:
                report.progress(f"nodes, {jobs} jobs, round {number + 1} of {rounds}")
                local[jobs].append(1e3 / place.batch([*live, "--api-key", "k"], runs, jobs).rate)
                place.env |= ray
                flags = [*live, "--engine", "ray", "--address", cluster.address]
                away[jobs].append(1e3 / place.batch(flags, runs, jobs).rate)
    for jobs in all_jobs:
        above = Spread([there - here for there, here in zip(away[jobs], local[jobs], strict=True)])
        table.add(jobs, Spread(local[jobs]).middle, Spread(away[jobs]).middle, *above.cells)
        claim = f"a run on a node, {jobs} jobs: at most {MOST_MS:g} ms above the local engine"
        claims.add(claim, f"{above} ms", None if quick else above.middle <= MOST_MS)
    report.show(table)
