"""A verdict in this checkout and in another one, by turns: for a change that must not make calls slower.

Each turn starts one process in each checkout, with the checkout's own modules. The process measures, round by round,
the C echo through `Supervisor.intercept` and through the blocking host, both on one core. The ratio to the blocking
host removes the influence of the machine's speed at that moment.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.report import Report, Table

ROOT = Path(__file__).parents[1]
TURNS = 10
ROUNDS, SAMPLES = 12, 1000
MEASURE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from benchmarks.hosts import Blocking, Supervised
from benchmarks.placement import Placement, possible
from benchmarks.samples import Rounds
from benchmarks.workshop import CHILDREN, Workshop

rounds, samples = int(sys.argv[2]), int(sys.argv[3])
with Workshop() as shop:
    echo = [shop.compiled(CHILDREN / "echo.c")] if shop.has_compiler else ["/bin/sh", str(CHILDREN / "echo.sh")]
    ours = Supervised(shop.started([shop.extension("guard", echo)]))
    hosts = {ours: Rounds(), Blocking(echo): Rounds()}
    for number in range(rounds + 1):
        for host, taken in hosts.items():
            host.place(possible()[0])
            found = host.measure(samples, 0.0)
            if number:  # the first round is to warm up
                taken.add(found)
    for host in hosts:
        host.place(Placement.FREE)
        host.close()
    mine, blocking = hosts.values()
    print(json.dumps([mine.figures()[0], mine.ratio_to(blocking)]))
"""


def measure(checkout: Path, rounds: int, samples: int) -> tuple[float, float]:
    """Returns p50 in µs, and the ratio of p50 to the blocking host."""
    python = checkout / ".venv" / "bin" / "python"
    argv = [str(python) if python.exists() else sys.executable, "-c", MEASURE]
    argv += [str(checkout), str(rounds), str(samples)]
    done = subprocess.run(argv, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True)
    p50, ratio = json.loads(done.stdout)
    return p50, ratio


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", metavar="CHECKOUT", type=Path, help="the folder of the other checkout, set up")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few samples, figures of no worth")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the raw figures there")
    options = parser.parse_args(argv)
    report = Report("compare", options)
    turns, rounds, samples = (1, 1, 50) if options.quick else (TURNS, ROUNDS, SAMPLES)
    table = Table("a verdict, one core", ("turn", "other µs", "of blocking", "this µs", "of blocking", "this / other"))
    for turn in range(turns):
        report.progress(f"turn {turn + 1} of {turns}")
        other = measure(options.other.resolve(), rounds, samples)
        this = measure(ROOT, rounds, samples)
        table.add(str(turn + 1), *other, *this, this[1] / other[1])
    report.show(table)
    report.note(f"this / other, median of {turns}: {median(row[-1] for row in table.rows):.3f}")
    report.finish()


if __name__ == "__main__":
    main()
