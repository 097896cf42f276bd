"""A preToolUse hook and a tool call of a Copilot extension, beside a minimal host in Node and the bytes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.copilot.contenders import KINDS, Bytes, node_host, supervised
from benchmarks.hosts import by_turns, close_all
from benchmarks.placement import possible
from benchmarks.report import Table

if TYPE_CHECKING:
    from benchmarks.hosts import Host
    from benchmarks.placement import Placement
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
        hosts[PEER] = node_host(kind)
        hosts[ZOT] = supervised(shop, kind)
        found = by_turns(hosts, placement, rounds, samples)
    finally:
        close_all(hosts)
    table = Table(f"{NAMES[kind]}, {placement.value}", COLUMNS)
    for name, mine in found.items():
        table.add(name, *mine.figures(), mine.ratio_to(found[FLOOR]), mine.ratio_to(found[ZOT]), mine.count)
    return table
