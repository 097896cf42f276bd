"""One stack of extensions for many runs: its processes, its hop, attaching, floods, lazy extensions, a kill storm."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks.claims import Claims
from benchmarks.report import Report, flags
from benchmarks.sharing.attachment import attaching
from benchmarks.sharing.flood import flood
from benchmarks.sharing.hop import hop
from benchmarks.sharing.lazy import lazy
from benchmarks.sharing.processes import processes
from benchmarks.sharing.storm import CALLS, storm
from benchmarks.workshop import Workshop

if TYPE_CHECKING:
    import argparse

PARTS = {"processes": processes, "hop": hop, "attach": attaching, "flood": flood, "lazy": lazy, "storm": storm}


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = flags("sharing", __doc__ or "", tuple(PARTS))
    parser.add_argument("--calls", type=int, default=CALLS, metavar="N", help="the calls of the storm")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the storm")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    report, claims = Report("sharing", options), Claims()
    for name, measure in PARTS.items():
        if name in (options.part or PARTS):
            with Workshop() as shop:
                more = {"calls": options.calls, "seed": options.seed} if measure is storm else {}
                measure(report, shop, claims, quick=options.quick, **more)
    report.show(claims.table)
    report.finish()
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
