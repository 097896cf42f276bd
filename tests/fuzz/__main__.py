"""`python -m tests.fuzz [TARGET …]` feeds a million inputs to each target; `--input FILE` feeds one that failed."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from tests.fuzz.crew import Outcome, run
from tests.fuzz.feeder import ROOT, mark_of, workplace
from tests.fuzz.target import cpu_limit_s
from tests.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--input", type=Path, help="feed this file to the target, in this process")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="inputs for each target (default: a million)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other inputs (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    parser.add_argument("--kept", type=Path, default=Path(ROOT, ".fuzz"), help="the folder for inputs that failed")
    given = parser.parse_args()
    if unknown := [name for name in given.targets if name not in TARGETS]:
        parser.error(f"no such target: {unknown[0]}; there are {', '.join(TARGETS)}")
    chosen = [TARGETS[name] for name in given.targets or TARGETS]
    if given.input is not None:
        if len(chosen) != 1:
            parser.error("--input needs one target")
        return replay(chosen[0].name, given.input.read_bytes())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the end of this process ends the others
    counts = {target.name: max(1, int(given.inputs * target.share)) for target in chosen}
    outcomes = []
    for outcome in run(chosen, seed=given.seed, inputs=counts, kept=given.kept, jobs=given.jobs):
        outcomes.append(outcome)
        print(*map(str, outcome.failures), sep="\n", end="\n" if outcome.failures else "", file=sys.stderr)
        print(row(outcome), file=sys.stderr, flush=True)
    print(f"\n{'target':20} {'inputs':>9} {'failures':>8} {'inputs/s':>8} {'growth MB':>9}   (seed {given.seed})")
    print(*map(row, outcomes), sep="\n")
    return 1 if any(outcome.failures for outcome in outcomes) else 0


def row(outcome: Outcome) -> str:
    growth = outcome.growth / 2**20
    return (
        f"{outcome.target:20} {outcome.inputs:>9} {len(outcome.failures):>8} {outcome.per_second:>8.0f} {growth:>9.1f}"
    )


def replay(name: str, data: bytes) -> int:
    """Feeds one input and shows its traceback."""
    with workplace() as folder, TARGETS[name].open(folder) as take:
        began = time.process_time()
        try:
            take(data)
        except BaseException as error:
            print(mark_of(error), flush=True)
            raise
        spent = time.process_time() - began
    is_slow = spent > cpu_limit_s(len(data))
    print(f"{len(data)} bytes, {spent:.3f} s of processor time{': too slow' if is_slow else ''}")
    return 1 if is_slow else 0


if __name__ == "__main__":
    sys.exit(main())
