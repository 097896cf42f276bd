"""The cost of Copilot extensions: hooks, tool calls and starts."""

from __future__ import annotations

import sys

from benchmarks.copilot.contenders import MISSING, SDK
from benchmarks.copilot.round_trips import round_trips
from benchmarks.copilot.start import start
from benchmarks.report import Report, parse
from benchmarks.workshop import Workshop, has_node

PARTS = ("calls", "start")


def main(argv: list[str] | None = None) -> int:
    options = parse("copilot", __doc__ or "", argv, parts=PARTS)
    parts = options.part or PARTS
    report = Report("copilot", options)
    if not has_node() or not SDK.exists():
        report.note(f"{MISSING}: nothing is measured")
        report.finish()
        return 0
    with Workshop() as shop:
        if "calls" in parts:
            round_trips(report, shop, quick=options.quick)
    if "start" in parts:
        start(report, quick=options.quick)
    report.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
