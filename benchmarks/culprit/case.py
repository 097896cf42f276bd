"""One case: a home with fifty extensions and a planted fault, and what `zot ext bisect` says about it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.culprit.crowd import FAMILIES, SLOWNESS_S, USUAL, plant
from benchmarks.culprit.tape import PROMPT, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COUNT = 50
LONGEST_S = 300.0
ROOT = Path(__file__).parents[2]
ZOT = (sys.executable, "-m", "pyzot")


class Solved(NamedTuple):
    """The outcome of a case."""

    family: str
    seed: int
    culprits: tuple[str, ...]
    """The extensions with the fault."""
    named: tuple[str, ...]
    """The extensions that were named."""
    runs: int
    seconds: float
    cpu_s: float
    """Seconds of the processor, of all processes of the case together."""
    said: str
    """The result in one word, or the error."""

    @property
    def is_right(self) -> bool:
        return self.named == self.culprits


def family_of(seed: int) -> str:
    """The family of the case with this seed: they take turns."""
    return list(FAMILIES)[seed % len(FAMILIES)]


def solve(folder: Path, seed: int, count: int = COUNT) -> Solved:
    """Makes the case with this seed in a folder, and solves it."""
    home, project, family = folder / "home", folder / "project", family_of(seed)
    for made in (home, project):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
    culprits = plant(home, family, count, Random(seed))
    record(folder / "run.jsonl", project)
    run = (*ZOT, FAMILIES[family].form, "--no-skill", "--replay", "../run.jsonl", PROMPT)
    env = {**os.environ, "ZOT_HOME": str(home), "PYTHONPATH": str(ROOT)}
    check = list(FAMILIES[family].check)
    if USUAL in check:
        # A run outside of a bisection ends at its first request, since the recording has no tools. It takes as long as
        # one without the fault, on a busy machine, too; the first one starts cold.
        usual_s = min(_seconds_of(run, project, env) for _ in range(2))
        check[check.index(USUAL)] = f"{usual_s + SLOWNESS_S / 2:.2f}"
    began, cpu = time.monotonic(), _cpu_s()
    ended = subprocess.run(
        [*ZOT, "ext", "bisect", "--json", *check, "--", *run],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    seconds, cpu = time.monotonic() - began, _cpu_s() - cpu
    if not ended.stdout:
        return Solved(family, seed, culprits, (), 0, seconds, cpu, ended.stderr.strip())
    found = json.loads(ended.stdout)
    said = found["result"] if found["result"] == "found" else f"{found['result']}: {found['why']}"
    return Solved(family, seed, culprits, tuple(found["culprits"]), found["runs"], seconds, cpu, said)


def _seconds_of(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> float:
    began = time.monotonic()
    subprocess.run(argv, cwd=cwd, env=env, capture_output=True)
    return time.monotonic() - began


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
