"""The screen: the time from its start to its prompt, and from a key to its echo while others flood."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks.claims import Claims
from benchmarks.report import Report, flags
from benchmarks.screen.keys import ROWS, keys
from benchmarks.screen.start import start
from benchmarks.workshop import Workshop

if TYPE_CHECKING:
    import argparse

PARTS = ("start", "keys")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = flags("screen", __doc__ or "", PARTS)
    said = f"only this one of {', '.join(ROWS)}; repeatable"
    parser.add_argument("--row", action="append", choices=tuple(ROWS), metavar="NAME", help=said)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    report, claims = Report("screen", options), Claims()
    parts = options.part or PARTS
    with Workshop() as shop:
        if "start" in parts:
            start(report, shop, claims, quick=options.quick)
        if "keys" in parts:
            keys(report, shop, claims, quick=options.quick, only=options.row)
    report.show(claims.table)
    report.finish()
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
