"""This checkout and another one by turns: verdict, tool call, start, first request, a run of a batch, its cached input.

Both are measured with this Python and its packages, on one core, and every turn starts new processes. A ratio is the
median over the turns of this one's figure divided by the other's in the same turn, with its 95 % interval.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.batch.cache import QUICK_TASKS, TASKS, add_row, cache_table, cached_batch
from benchmarks.batch.place import Api, Place
from benchmarks.compare.calls import COUNTER, Calls
from benchmarks.interval import of_median
from benchmarks.placement import ALL
from benchmarks.report import Report, Table
from benchmarks.startup import Bench
from benchmarks.workshop import ROOT, Workshop
from tests.support.messages_server import MessagesServer

if TYPE_CHECKING:
    from collections.abc import Callable

    Measure = Callable[[Path], dict[str, float]]
    """Takes a checkout, and returns its figures by name."""

PARTS = ("calls", "start", "batch", "cache")
TURNS, QUICK_TURNS = 30, 1
RUNS, QUICK_RUNS = 100, 4
"""Runs of the batch of one turn."""
JOBS = 2


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", metavar="CHECKOUT", type=Path, help="the folder of the other checkout")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help=f"measure N turns (default {TURNS})")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; repeatable")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few samples, figures of no worth")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the raw figures there")
    return parser.parse_args(argv)


def starts(report: Report, shop: Workshop, server: MessagesServer, trees: list[Path], *, quick: bool) -> Measure:
    benches = {tree: Bench(report, shop, server, quick=quick, checkout=tree) for tree in trees}
    timed = {tree: bench.one_liners() for tree, bench in benches.items()}
    return lambda tree: {f"{name}, ms": take() * 1e3 for name, take in timed[tree].items()}


def batch_run(shop: Workshop, api: Api, trees: list[Path], *, quick: bool) -> Measure:
    places: dict[Path, Place] = {}
    for number, tree in enumerate(trees):
        (folder := shop.folder / f"batch-{number}").mkdir()
        places[tree] = Place(folder, quick=quick, checkout=tree)

    def measure(tree: Path) -> dict[str, float]:
        place = places[tree]
        used = place.batch(place.live(api), QUICK_RUNS if quick else RUNS, JOBS)
        return {"a run of a batch, ms": 1e3 / used.rate, "a run of a batch, CPU ms": used.cpu_s * 1e3}

    return measure


def cached_input(report: Report, shop: Workshop, trees: list[Path], *, quick: bool) -> None:
    """Once each: figures that are counted, not measured. The other checkout may know no flags of the cache."""
    tasks = QUICK_TASKS if quick else TASKS
    for in_tools in (False, True):
        table = cache_table(tasks, in_tools=in_tools)
        for name, tree in zip(("other", "this"), trees, strict=True):
            report.progress(f"the provider's cache, {name}")
            (folder := shop.folder / f"cache-{name}-{in_tools}").mkdir()
            place = Place(folder, quick=quick, checkout=tree)
            add_row(table, name, cached_batch(place, tasks, in_tools=in_tools))
        pairs = zip(*(row[1:] for row in table.rows), strict=True)
        table.add("this / other", *(mine / peer if peer else None for peer, mine in pairs))
        report.show(table)


def by_turns(report: Report, title: str, measure: Measure, trees: list[Path], turns: int, *, warm: bool) -> None:
    """The first turn does not count with `warm`: it fills caches. `trees` are the other checkout and this one."""
    found: dict[Path, list[dict[str, float]]] = {tree: [] for tree in trees}
    for turn in range(0 if warm else 1, turns + 1):
        report.progress(f"{title}: turn {turn} of {turns}")
        for tree in trees[:: 1 if turn % 2 else -1]:
            figures = measure(tree)
            if turn:
                found[tree].append(figures)
    other, this = found[trees[0]], found[trees[1]]
    table = Table(title, ("", "other", "this", "this / other", "95 % from", "to", "turns"))
    for name in this[0]:
        before, now = ([figures[name] for figures in side] for side in (other, this))
        ratios = [mine / peer for mine, peer in zip(now, before, strict=True)]
        table.add(name, median(before), median(now), *of_median(ratios), len(ratios))
    report.show(table)


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    report = Report("compare", options)
    quick, parts = options.quick, options.part or PARTS
    turns = QUICK_TURNS if quick else options.turns
    trees = [options.other.resolve(), ROOT]
    if ALL:
        os.sched_setaffinity(0, {ALL[0]})
    with Workshop() as shop:
        if "calls" in parts:
            calls = Calls(quick=quick)
            by_turns(report, "calls, by turns", calls.measure, trees, turns, warm=False)
            if shutil.which(COUNTER) is None:
                report.note(f"no {COUNTER} here: instructions are not counted")
            else:
                by_turns(report, "instructions of the host's own code", calls.instructions, trees, 1, warm=False)
        if "start" in parts:
            with MessagesServer() as server:
                measure = starts(report, shop, server, trees, quick=quick)
                by_turns(report, "start, by turns", measure, trees, turns, warm=not quick)
        if "batch" in parts:
            with Api() as api:
                measure = batch_run(shop, api, trees, quick=quick)
                by_turns(report, "batch, by turns", measure, trees, turns, warm=not quick)
        if "cache" in parts:
            cached_input(report, shop, trees, quick=quick)
    report.finish()


if __name__ == "__main__":
    main()
