"""A forked run attaches to a host: the time until its first request may go."""

from __future__ import annotations

import gc
import os
import time
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.report import Table
from benchmarks.samples import percentiles
from benchmarks.sharing.hop import echo
from benchmarks.sharing.runs import HostedRun, RawRun
from benchmarks.sharing.stack import Stack

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.sharing.stack import ZotHost
    from benchmarks.workshop import Workshop

COUNTS = (1, 10)
ROUNDS, QUICK_ROUNDS = 10, 1
FORKS, QUICK_FORKS = 50, 3
MOST_MS = 2.0
"""From the connection to the host until all extensions are registered in the run."""


def attaching(report: Report, shop: Workshop, claims: Claims, *, quick: bool) -> None:
    rounds, forks = (QUICK_ROUNDS, QUICK_FORKS) if quick else (ROUNDS, FORKS)
    stack, argv = Stack(shop.folder), echo(shop)
    words = {
        count: [
            word
            for number in range(count)
            for word in ("-e", str(_extension(stack, f"echo{number}", argv[0])), "--share", f"echo{number}")
        ]
        for count in COUNTS
    }
    table = Table("a forked run attaches, ms", ("extensions", "p50", "p90", "p99", "CPU of the run, p50", "forks"))
    with stack.host(*words[1]) as few, stack.host(*words[10]) as many:
        hosts = {1: few, 10: many}
        for count, host in hosts.items():
            for number in range(count):
                RawRun(host.attach_path, f"warm {number}", extension=f"echo{number}").close()  # all are up
            run = HostedRun(host.attach_path, "warm", shop.folder)  # imports all, as the template of a batch has done
            run.settle()
            run.close()
        del run
        gc.collect()
        gc.freeze()  # as that does, too
        took: dict[int, list[list[int]]] = {count: [] for count in COUNTS}
        used: dict[int, list[int]] = {count: [] for count in COUNTS}
        for turn in range(rounds + (not quick)):
            report.progress(f"attaching, round {turn}")
            for count, host in hosts.items():
                found = [_forked(host, shop.folder, f"{turn}-{number}") for number in range(forks)]
                if turn or quick:
                    took[count].append([ready for ready, _ in found])
                    used[count] += [cpu for _, cpu in found]
        for count in COUNTS:
            figures = [median(each) / 1e3 for each in zip(*map(percentiles, took[count]), strict=True)]
            table.add(str(count), *figures, median(used[count]) / 1e6, len(took[count]) * forks)
            claim = f"attaching with {count} extension{'s' * (count > 1)}: at most {MOST_MS:g} ms"
            claims.add(claim, f"{figures[0]:.2f} ms", None if quick else figures[0] <= MOST_MS)
    gc.unfreeze()
    report.show(table)


def _extension(stack: Stack, name: str, program: str) -> Path:
    return stack.extension(name, [program, name], sessions="shared")


def _forked(host: ZotHost, folder: Path, session_id: str) -> tuple[int, int]:
    """Nanoseconds until all extensions are registered in a fork, and its processor time meanwhile."""
    from_child, to_parent = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            began, cpu = time.perf_counter_ns(), time.process_time_ns()
            run = HostedRun(host.attach_path, session_id, folder)
            run.settle()
            os.write(to_parent, b"%d %d" % (time.perf_counter_ns() - began, time.process_time_ns() - cpu))
            run.close()
        finally:
            os._exit(0)
    os.close(to_parent)
    said = os.read(from_child, 64)
    os.close(from_child)
    os.waitpid(pid, 0)
    if not said:
        raise RuntimeError("a forked run did not attach")
    took, cpu = map(int, said.split())
    return took, cpu
