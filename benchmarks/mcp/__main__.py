"""The cost of MCP servers: calls, starts, and how long one holds the host's loop."""

from __future__ import annotations

import sys

from benchmarks.claims import Claims
from benchmarks.mcp.calls import calls
from benchmarks.mcp.held import held
from benchmarks.mcp.start import start
from benchmarks.report import Report, parse
from benchmarks.workshop import Workshop

PARTS = ("calls", "start", "held")


def main(argv: list[str] | None = None) -> int:
    options = parse("mcp", __doc__ or "", argv, parts=PARTS)
    parts = options.part or PARTS
    report, claims = Report("mcp", options), Claims()
    with Workshop() as workshop:
        if "calls" in parts:
            calls(report, workshop, quick=options.quick)
        if "start" in parts:
            start(report, workshop, quick=options.quick)
        if "held" in parts:
            held(report, workshop, claims, quick=options.quick)
    if claims.table.rows:
        report.show(claims.table)
    report.finish()
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
