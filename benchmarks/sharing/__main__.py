"""One stack of extensions for many runs: its processes, its hop, attaching, floods, lazy extensions, a kill storm."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks.claims import Claims
from benchmarks.report import Report, flags
from benchmarks.sharing.attaching import attaching
from benchmarks.sharing.flood import flood
from benchmarks.sharing.hop import hop
from benchmarks.workshop import Workshop

if TYPE_CHECKING:
    import argparse

PARTS = {"hop": hop, "attach": attaching, "flood": flood}


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = flags("sharing", __doc__ or "", tuple(PARTS))
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    report, claims = Report("sharing", options), Claims()
    for name, measure in PARTS.items():
        if name in (options.part or PARTS):
            with Workshop() as shop:
                measure(report, shop, claims, quick=options.quick)
    report.show(claims.table)
    report.finish()
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
