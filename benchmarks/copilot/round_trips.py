"""A preToolUse hook and a tool call of a Copilot extension, beside a minimal host in Node and the bytes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.copilot.contenders import KINDS, Bytes, NodeHost, supervised
from benchmarks.placement import Placement, possible
from benchmarks.report import Table
from benchmarks.samples import Rounds

if TYPE_CHECKING:
    from benchmarks.hosts import Host
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop

ROUNDS, SAMPLES = 20, 300
QUICK_ROUNDS, QUICK_SAMPLES = 1, 10
FLOOR, PEER, ZOT = "bytes alone", "minimal host in Node", "zot"
NAMES = {"hook": "preToolUse", "call": "a tool call"}
COLUMNS = ("", "p50 µs", "p90 µs", "p99 µs", "of its bytes", "of zot", "samples")


def round_trips(report: Report, shop: Workshop, *, quick: bool) -> None:
    rounds, samples = (QUICK_ROUNDS, QUICK_SAMPLES) if quick else (ROUNDS, SAMPLES)
    for kind in KINDS:
        for placement in (possible()[0], possible()[-1]):
            report.progress(f"{NAMES[kind]}, {placement.value}")
            report.show(_compared(shop, kind, placement, rounds, samples))


def _compared(shop: Workshop, kind: str, placement: Placement, rounds: int, samples: int) -> Table:
    hosts: dict[str, Host] = {}
    try:
        hosts[FLOOR] = Bytes(kind)
        hosts[PEER] = NodeHost(kind)
        hosts[ZOT] = supervised(shop, kind)
        found = {name: Rounds() for name in hosts}
        for number in range(rounds + 1):
            for name, host in hosts.items():
                host.place(placement)
                taken = host.measure(samples, 0.0)
                if number:  # the first round is to warm up
                    found[name].add(taken)
    finally:
        for host in hosts.values():
            host.place(Placement.FREE)
            host.close()
    table = Table(f"{NAMES[kind]}, {placement.value}", COLUMNS)
    for name, mine in found.items():
        table.add(name, *mine.figures(), mine.ratio_to(found[FLOOR]), mine.ratio_to(found[ZOT]), mine.count)
    return table
