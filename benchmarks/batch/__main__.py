"""The cost of a batch, beside the same runs as programs of their own, a floor, and a disk that need not be safe."""

from __future__ import annotations

import sys

from benchmarks.batch.cache import cache
from benchmarks.batch.journal import journal, resume
from benchmarks.batch.limits import limits
from benchmarks.batch.memory import memory
from benchmarks.batch.nodes import nodes
from benchmarks.batch.place import Place
from benchmarks.batch.rates import delay, floor, rates
from benchmarks.claims import Claims
from benchmarks.report import Report, parse
from benchmarks.workshop import Workshop

PARTS = {
    "rates": rates,
    "floor": floor,
    "delay": delay,
    "memory": memory,
    "journal": journal,
    "resume": resume,
    "limits": limits,
    "cache": cache,
    "nodes": nodes,
}


def main(argv: list[str] | None = None) -> int:
    options = parse("batch", __doc__ or "", argv, parts=tuple(PARTS))
    report, claims = Report("batch", options), Claims()
    with Workshop() as workshop:
        place = Place(workshop.folder, quick=options.quick)
        for name, measure in PARTS.items():
            if name in (options.part or PARTS):
                measure(report, place, claims, quick=options.quick)
    report.show(claims.table)
    report.finish()
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
