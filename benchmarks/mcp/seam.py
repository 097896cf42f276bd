"""What the seam between the supervisor and its protocols costs zot's own one: this checkout and another, by turns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.report import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.claims import Claims
    from benchmarks.report import Report

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "benchmarks" / "mcp" / "seam_host.py"
PATHS = ("verdict", "tool call")
TURNS = 10
ROUNDS, SAMPLES = 12, 1000
FEW, MANY = 500, 2500
"""Verdicts, or calls, of the two runs whose instructions are compared."""
COUNTER = "valgrind"
MOST = 1.05
"""The claim: so many times the other checkout's time, at most."""


def seam(report: Report, claims: Claims, base: Path | None, *, quick: bool) -> None:
    if base is None:
        report.note("seam: left out, name another checkout with --base")
        return
    trees = {"other": base.resolve(), "this": ROOT}
    turns, rounds, samples = (1, 1, 50) if quick else (TURNS, ROUNDS, SAMPLES)
    _by_turns(report, claims, trees, turns, rounds, samples, judged=not quick)
    if shutil.which(COUNTER) is None:
        report.note(f"no {COUNTER} here: instructions are not counted")
        return
    few, many = (5, 25) if quick else (FEW, MANY)
    table = Table("instructions of the host's own code", ("", "other", "this", "this / other"))
    for path in PATHS:
        report.progress(f"instructions: {path}")
        counts = [(_instructions(tree, path, many) - _instructions(tree, path, few)) // (many - few)
                  for tree in trees.values()]  # fmt: skip
        table.add(path, *counts, counts[1] / max(counts[0], 1))
    report.show(table)


def _by_turns(
    report: Report, claims: Claims, trees: dict[str, Path], turns: int, rounds: int, samples: int, *, judged: bool
) -> None:
    found: dict[str, dict[str, list[dict[str, list[float]]]]] = {
        part: {name: [] for name in trees} for part in ("child", "alone")
    }
    for turn in range(turns):
        report.progress(f"the seam, turn {turn + 1} of {turns}")
        for part, by_tree in found.items():
            for name in sorted(trees, reverse=turn % 2 == 1):
                by_tree[name].append(_measured(trees[name], part, rounds, samples))
    columns = ("", "other µs", "this µs", "this / other", "lowest", "highest", "turns")
    of_blocking: Callable[[dict[str, list[float]], str], float]
    for part, title in (("child", "with the C echo, one core"), ("alone", "the host's own code alone")):
        table = Table(f"by turns, {title}", columns)
        for path in PATHS:
            before, now = ([median(one[path]) for one in found[part][name]] for name in ("other", "this"))
            of_blocking = _of_blocking if part == "child" else _as_measured
            pairs = zip(found[part]["other"], found[part]["this"], strict=True)
            ratios = sorted(of_blocking(this, path) / of_blocking(other, path) for other, this in pairs)
            table.add(path, median(before), median(now), median(ratios), ratios[0], ratios[-1], len(ratios))
            if part == "child":
                claim = f"zot's own {path}: at most {MOST:g} times the other checkout, median of {turns} turns"
                claims.add(claim, f"{median(ratios):.3f}", median(ratios) <= MOST if judged else None)
        report.show(table)


def _of_blocking(found: dict[str, list[float]], path: str) -> float:
    """Relative to the blocking host of the same round: that removes the influence of the machine's speed."""
    return median(mine / peer for mine, peer in zip(found[path], found["blocking"], strict=True))


def _as_measured(found: dict[str, list[float]], path: str) -> float:
    return min(found[path])


def _argv(tree: Path, *args: str) -> list[str]:
    python = tree / ".venv" / "bin" / "python"
    return [str(python) if python.exists() else sys.executable, str(PROGRAM), str(tree), *args]


def _measured(tree: Path, part: str, rounds: int, samples: int) -> dict[str, list[float]]:
    argv = _argv(tree, part, str(rounds), str(samples))
    done = subprocess.run(argv, cwd=tree, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _instructions(tree: Path, path: str, count: int) -> int:
    argv = [COUNTER, "--tool=callgrind", "--callgrind-out-file=/dev/null", *_argv(tree, path, "1", str(count))]
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(argv, cwd=tree, env=env, stderr=subprocess.PIPE, text=True, check=True)
    (counted,) = [line for line in done.stderr.splitlines() if "Collected" in line]
    return int(counted.split()[-1])
