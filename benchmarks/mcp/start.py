"""Starting 1 and 20 MCP servers until their tools are known, beside as many extensions of zot's own protocol and beside
the official client with the same servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.mcp.contenders import MISSING, children, has_client, official
from benchmarks.report import Table

if TYPE_CHECKING:
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / ".venv" / "mcp-servers" / "node_modules" / ".bin" / "mcp-server-memory"
"""A server that others have published; `make mcp-servers` installs it."""
COUNTS, ROUNDS = (1, 20), 5
ZOT, OWN, OFFICIAL = "zot, MCP", "zot, zot's protocol", "official client, MCP"
COLUMNS = ("", "ready ms", "of zot, MCP", "CPU of the host ms", "RSS of the host MiB", "rounds")


def start(report: Report, shop: Workshop, *, quick: bool) -> None:
    if not has_client():
        report.note(MISSING)
    servers, own = children(shop, "mcp"), children(shop, "zot")
    if os.access(PUBLISHED, os.X_OK):
        servers["the published memory server"] = [str(PUBLISHED)]
    else:
        report.note("no published server is here (make mcp-servers): left out")
    for language, argv in servers.items():
        for count in (2,) if quick else COUNTS:
            found: dict[str, list[dict[str, Any]]] = {}
            for number in range(1 if quick else ROUNDS + 1):
                report.progress(f"start of {count}, {language}, round {number}")
                taken = {ZOT: _started("mcp", count, argv)}
                if has_client():
                    taken[OFFICIAL] = _official(count, argv)
                if language in own:
                    taken[OWN] = _started("zot", count, own[language])
                if number or quick:  # the first round is to warm up
                    for name, figures in taken.items():
                        found.setdefault(name, []).append(figures)
            report.show(_table(f"start of {count}, {language}", found))


def _table(title: str, found: dict[str, list[dict[str, Any]]]) -> Table:
    table = Table(title, COLUMNS)
    for name, rows in found.items():
        ratio = median(mine["ready_s"] / zot["ready_s"] for mine, zot in zip(rows, found[ZOT], strict=True))
        ready, cpu, rss = (median(row[key] for row in rows) for key in ("ready_s", "cpu_s", "rss"))
        table.add(name, ready * 1e3, ratio, cpu * 1e3, rss / 2**20, len(rows))
    return table


def _started(dialect: str, count: int, argv: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.mcp.start_host", dialect, str(count), *argv]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _official(count: int, argv: list[str]) -> dict[str, Any]:
    client = official(argv, count)
    client.close()
    return client.figures
