"""Starting 1 and 20 Copilot extensions until they have joined, beside a minimal host in Node."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.copilot.contenders import node_host
from benchmarks.report import Table
from benchmarks.workshop import ROOT

if TYPE_CHECKING:
    from benchmarks.report import Report

COUNTS, ROUNDS = (1, 20), 5
ZOT, PEER = "zot", "minimal host in Node"
COLUMNS = ("", "joined ms", "of zot", "CPU of the host ms", "RSS of the host MiB", "rounds")


def start(report: Report, *, quick: bool) -> None:
    for count in (2,) if quick else COUNTS:
        found: dict[str, list[dict[str, Any]]] = {ZOT: [], PEER: []}
        for number in range(1 if quick else ROUNDS + 1):
            report.progress(f"start of {count}, round {number}")
            taken = {ZOT: _started(count), PEER: _peer(count)}
            if number or quick:  # the first round is to warm up
                for name, figures in taken.items():
                    found[name].append(figures)
        table = Table(f"start of {count}", COLUMNS)
        for name, rows in found.items():
            ratio = median(mine["ready_s"] / zot["ready_s"] for mine, zot in zip(rows, found[ZOT], strict=True))
            ready, cpu, rss = (median(row[key] for row in rows) for key in ("ready_s", "cpu_s", "rss"))
            table.add(name, ready * 1e3, ratio, cpu * 1e3, rss / 2**20, len(rows))
        report.show(table)


def _started(count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.copilot.start_host", str(count)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _peer(count: int) -> dict[str, Any]:
    host = node_host(count=count)
    host.close()
    return host.figures
