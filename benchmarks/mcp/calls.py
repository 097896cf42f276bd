"""A tool call of an MCP server under the supervisor, beside the official client, zot's protocol, and bytes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.hosts import by_turns, close_all
from benchmarks.mcp.contenders import MISSING, Bytes, children, has_client, official, tool_calls
from benchmarks.placement import possible
from benchmarks.report import Table

if TYPE_CHECKING:
    from benchmarks.hosts import Host
    from benchmarks.placement import Placement
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
        hosts[ZOT] = tool_calls(shop.started([shop.extension("echo", servers, dialect="mcp")]))
        if has_client():
            hosts[OFFICIAL] = official(servers)
        hosts[OWN_FLOOR] = Bytes(own, "zot")
        hosts[OWN] = tool_calls(shop.started([shop.extension("own", own)]))
        found = by_turns(hosts, placement, rounds, samples)
    finally:
        close_all(hosts)
    table = Table(f"a tool call, {language}, {placement.value}", COLUMNS)
    for name, mine in found.items():
        floor = found[OWN_FLOOR if name in (OWN_FLOOR, OWN) else FLOOR]
        table.add(name, *mine.figures(), mine.ratio_to(floor), mine.ratio_to(found[ZOT]), mine.count)
    return table
