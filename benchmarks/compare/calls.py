"""A verdict and a tool call of zot's own protocol, with the modules of a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

PROGRAM = Path(__file__).with_name("call_host.py")
PATHS = ("verdict", "tool call")
ROUNDS, QUICK_ROUNDS = 6, 1
SAMPLES, QUICK_SAMPLES = 1000, 50
FEW, MANY = 500, 2500
"""Verdicts, or calls, of the two runs whose instructions are compared."""
QUICK_FEW, QUICK_MANY = 5, 25
COUNTER = "valgrind"


class Calls:
    def __init__(self, *, quick: bool) -> None:
        self._size = (QUICK_ROUNDS, QUICK_SAMPLES) if quick else (ROUNDS, SAMPLES)
        self._counts = (QUICK_FEW, QUICK_MANY) if quick else (FEW, MANY)

    def measure(self, tree: Path) -> dict[str, float]:
        """With a C echo, in times of a blocking host of the same round, which removes the influence of the machine's
        speed; and without a process, so that only the host's own code counts, in µs."""
        child, alone = (self._measured(tree, part) for part in ("child", "alone"))
        times = {f"{path}, of a blocking host": median(map(_ratio, child[path], child["blocking"])) for path in PATHS}
        return times | {f"{path}, the host's own code, µs": min(alone[path]) for path in PATHS}

    def instructions(self, tree: Path) -> dict[str, float]:
        """Of the host's own code, for each path."""
        few, many = self._counts
        return {
            f"{path}, instructions": (counted(tree, path, many) - counted(tree, path, few)) / (many - few)
            for path in PATHS
        }

    def _measured(self, tree: Path, part: str) -> dict[str, list[float]]:
        argv = _argv(tree, part, *map(str, self._size))
        found: dict[str, Any] = json.loads(subprocess.run(argv, cwd=tree, stdout=subprocess.PIPE, check=True).stdout)
        return found


def _ratio(mine: float, peer: float) -> float:
    return mine / peer


def _argv(tree: Path, *args: str) -> list[str]:
    return [sys.executable, str(PROGRAM), str(tree), *args]


def counted(tree: Path, path: str, count: int) -> int:
    """Instructions of a run of `count` verdicts or calls."""
    argv = [COUNTER, "--tool=callgrind", "--callgrind-out-file=/dev/null", *_argv(tree, path, "1", str(count))]
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(argv, cwd=tree, env=env, stderr=subprocess.PIPE, text=True, check=True)
    (counted,) = [line for line in done.stderr.splitlines() if "Collected" in line]
    return int(counted.split()[-1])
