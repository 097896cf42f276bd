"""A server with a rate limit, as that of the real API: how many refusals come for each answer."""

from __future__ import annotations

import json
import subprocess
import time
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.batch.place import TIMEOUT_S, Place
from benchmarks.report import Table
from tests.support.messages_server import MessagesServer
from tests.support.messages_server.token_bucket import Account, token_bucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.claims import Claims
    from benchmarks.report import Report

JOBS, QUICK_JOBS = 32, 4
LIMIT, QUICK_LIMIT = 120, 30
"""Requests per minute; as many can come at first."""
RUNS, QUICK_RUNS = 180, 31
ROUNDS = 2
MOST = 0.1


class Found(NamedTuple):
    refused: float
    """Refusals for each answer."""
    failed: float
    """Share of the runs."""
    times: float
    """Of the time that the limit allows."""


def limits(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    limit, runs, jobs = (QUICK_LIMIT, QUICK_RUNS, QUICK_JOBS) if quick else (LIMIT, RUNS, JOBS)
    ways: dict[str, Callable[[str], float]] = {
        "the SDK's own 2 retries": lambda url: int(place.floor(url, runs, jobs)["failed"]) / runs,
        "a batch": lambda url: _batch(place, url, runs, jobs),
    }
    found: dict[str, list[Found]] = {name: [] for name in ways}
    for number in range(1 if quick else ROUNDS):
        for name, run in ways.items():
            report.progress(f"rate limits, {name}, round {number + 1}")
            account = Account(time.monotonic(), requests=limit)
            with MessagesServer() as server:
                server.otherwise = token_bucket(account)
                began = time.monotonic()
                failed = run(server.base_url)
                took = time.monotonic() - began
            ideal = max(0.0, runs - limit) * 60 / limit
            found[name].append(Found(account.refused / max(1, account.answered), failed, took / ideal))
    table = Table(
        f"{limit} requests per minute, {runs} runs, {jobs} jobs",
        ("", "429 per answer", "failed %", "time / ideal, start included"),
    )
    for name, rows in found.items():
        refused, failed_share, times = map(median, zip(*rows, strict=True))
        table.add(name, refused, failed_share * 100, times)
    report.show(table)
    worst = max(row.refused for row in found["a batch"])
    claims.add(f"{jobs} jobs: at most {MOST:g} refusals for each answer", f"{worst:.3f}", worst <= MOST)
    failures = max(row.failed for row in found["a batch"])
    claims.add("no run fails for a rate limit", f"{failures:.0%}", not failures)


def _batch(place: Place, url: str, runs: int, jobs: int) -> float:
    flags = ["--provider", "anthropic", "--api-key", "k", "--base-url", url]
    rundir = place.rundir()
    argv = place.batch_argv(place.tasks(runs), rundir, flags, jobs)
    subprocess.run(argv, cwd=place.project, env=place.env, stdin=-3, stdout=-3, stderr=-3, timeout=TIMEOUT_S)
    results = [json.loads(line) for line in (rundir / "results.jsonl").read_bytes().splitlines()]
    return 1 - [result["status"] for result in results].count("ok") / runs
