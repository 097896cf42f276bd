"""How often `zot ext bisect` names the one of fifty extensions that makes a run go bad, in how many runs, and how fast;
beside leaving the extensions out one by one."""

from __future__ import annotations

import sys
from statistics import median

from benchmarks.claims import Claims
from benchmarks.culprit.case import COUNT, Solved, solve
from benchmarks.culprit.crowd import FAMILIES
from benchmarks.report import Report, Table, flags
from benchmarks.workshop import Workshop

CASES = 200
COLUMNS = ("fault", "cases", "named", "runs p50", "runs max", "s p50", "s max", "CPU s p50", "runs one by one")


def main(argv: list[str] | None = None) -> int:
    parser = flags("culprit", __doc__ or "")
    parser.add_argument("--cases", type=int, default=CASES, metavar="N", help=f"solve N cases (default {CASES})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="begin with the case of this seed (default 0)")
    options = parser.parse_args(argv)
    report, claims = Report("culprit", options), Claims()
    count, crowd = (len(FAMILIES), 6) if options.quick else (options.cases, COUNT)
    solved = []
    with Workshop() as workshop:
        for seed in range(options.seed, options.seed + count):
            case = solve(workshop.folder, seed, crowd)
            solved.append(case)
            right = "named" if case.is_right else f"WRONG: {case.named}, {case.culprits} is right; {case.said}"
            report.progress(f"case {seed}, {case.family}: {right}, {case.runs} runs, {case.seconds:.1f} s")
    table = Table(f"{count} cases with one fault among {crowd} extensions", COLUMNS)
    for family in FAMILIES:
        if rows := [case for case in solved if case.family == family]:
            _add(table, family, rows)
    _add(table, "all", solved)
    report.show(table)
    if not options.quick:
        named = sum(case.is_right for case in solved) / count
        slowest = max(case.seconds for case in solved)
        claims.add("culprits named, of all cases: at least 95 %", f"{100 * named:.1f} %", named >= 0.95)
        claims.add("the slowest case: less than 30 s", f"{slowest:.1f} s", slowest < 30)
        single = max(case.runs for case in solved if len(case.culprits) == 1)
        several = max((case.runs for case in solved if len(case.culprits) > 1), default=0)
        claims.add("runs for one of fifty: at most 9", str(single), single <= 9)
        claims.add("runs for a pair of fifty: at most 20", str(several), several <= 20)
        report.show(claims.table)
    report.finish()
    return claims.exit_code


def _add(table: Table, name: str, rows: list[Solved]) -> None:
    runs, seconds = [case.runs for case in rows], [case.seconds for case in rows]
    named = sum(case.is_right for case in rows)
    cpu_s, floor = median(case.cpu_s for case in rows), median(_one_by_one(case) for case in rows)
    table.add(name, len(rows), named, median(runs), max(runs), median(seconds), max(seconds), cpu_s, floor)


def _one_by_one(case: Solved) -> int:
    """The runs that leaving out one extension after the other takes: with all, and up to the first whose absence makes
    the run good. It finds one of a pair, not both."""
    return 1 + int(case.culprits[0].removeprefix("ext")) + 1


if __name__ == "__main__":
    sys.exit(main())
