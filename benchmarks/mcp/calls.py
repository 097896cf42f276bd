"""A tool call of an MCP server under the supervisor, beside the official client, zot's protocol, and bytes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.mcp.contenders import MISSING, Bytes, Official, Tools, children, has_client
from benchmarks.placement import Placement, possible
from benchmarks.report import Table
from benchmarks.samples import Rounds

if TYPE_CHECKING:
    from benchmarks.hosts import Host
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop

ROUNDS, SAMPLES = 20, 500
QUICK_ROUNDS, QUICK_SAMPLES = 1, 10
FLOOR, ZOT, OFFICIAL = "bytes alone, MCP", "zot, MCP", "official client, MCP"
OWN_FLOOR, OWN = "bytes alone, zot's protocol", "zot, zot's protocol"
COLUMNS = ("", "p50 µs", "p90 µs", "p99 µs", "of its bytes", "of zot, MCP", "samples")


def calls(report: Report, shop: Workshop, *, quick: bool) -> None:
    if not has_client():
        report.note(MISSING)
    rounds, samples = (QUICK_ROUNDS, QUICK_SAMPLES) if quick else (ROUNDS, SAMPLES)
    for placement in (possible()[0], possible()[-1]):
        for language in children(shop, "mcp"):
            report.progress(f"calls, {language}, {placement.value}")
            report.show(_compared(shop, language, placement, rounds, samples))


def _compared(shop: Workshop, language: str, placement: Placement, rounds: int, samples: int) -> Table:
    hosts: dict[str, Host] = {}
    servers, own = children(shop, "mcp")[language], children(shop, "zot")[language]
    try:
        hosts[FLOOR] = Bytes(servers, "mcp")
        hosts[ZOT] = Tools(shop.started([shop.extension("echo", servers, dialect="mcp")]))
        if has_client():
            hosts[OFFICIAL] = Official(servers)
        hosts[OWN_FLOOR] = Bytes(own, "zot")
        hosts[OWN] = Tools(shop.started([shop.extension("own", own)]))
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
    table = Table(f"a tool call, {language}, {placement.value}", COLUMNS)
    for name, mine in found.items():
        floor = found[OWN_FLOOR if name in (OWN_FLOOR, OWN) else FLOOR]
        table.add(name, *mine.figures(), mine.ratio_to(floor), mine.ratio_to(found[ZOT]), mine.count)
    return table
