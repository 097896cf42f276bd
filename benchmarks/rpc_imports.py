"""The cost of `import pyzot`, beside claude-agent-sdk: time and memory, less the interpreter's. Linux only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import platformdirs

from benchmarks.report import Report, Table
from benchmarks.workshop import ROOT

if TYPE_CHECKING:
    from benchmarks.claims import Claims
    from benchmarks.workshop import Workshop

ROUNDS, QUICK_ROUNDS = 15, 1
PEER = "claude-agent-sdk==0.2.187"
MEASURED = """
import time
start = time.perf_counter()
{0}
taken = time.perf_counter() - start
with open("/proc/self/status") as file:
    print(taken, next(line.split()[1] for line in file if line.startswith("VmHWM:")))
"""
"""Prints seconds, and KiB at the most."""
LIMIT_MS = 60.0


def imports(report: Report, workshop: Workshop, claims: Claims, *, quick: bool) -> None:
    """Each in a fresh interpreter, by turns. The peer is installed into an environment of its own."""
    contenders = {"python -c pass": (sys.executable, "pass")}
    ours = "from pyzot import Runtime"
    for statement in ("import json", "import pyzot", ours):
        contenders[statement] = (sys.executable, statement)
    if not quick and (peer := _peer(report)) is not None:
        contenders["import claude_agent_sdk"] = (peer, "import claude_agent_sdk")
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(workshop.folder / "bytecode")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    for number in range((QUICK_ROUNDS if quick else ROUNDS) + 1):
        report.progress(f"imports, round {number}")
        for name, (python, statement) in contenders.items():
            argv = [python, "-c", MEASURED.format(statement)]
            said = subprocess.run(argv, env=env, cwd=workshop.folder, capture_output=True, text=True, check=True)
            seconds, kib = map(float, said.stdout.split())
            if number:  # the first round compiles
                taken[name].append((seconds * 1000, kib / 1024))
    bare = median(mib for _, mib in taken["python -c pass"])
    table = Table(
        "importing, in an interpreter that has nothing yet",
        ("", "median ms", "best ms", "MiB", "more than python -c pass"),
    )
    for name, runs in taken.items():
        times = [ms for ms, _ in runs]
        peak = median(mib for _, mib in runs)
        table.add(name, median(times), min(times), peak, peak - bare)
    report.show(table)
    found = median(ms for ms, _ in taken[ours])
    claims.add(f"{ours}: at most {LIMIT_MS:g} ms", f"{found:.1f} ms", found <= LIMIT_MS)


def _peer(report: Report) -> str | None:
    """The Python of the peer's environment, which is kept for later runs; None if it cannot be installed."""
    folder = Path(platformdirs.user_cache_dir("zot-benchmarks")) / PEER
    python, is_complete = folder / "bin" / "python", folder / "complete"
    if not is_complete.exists():
        report.progress(f"installing {PEER} into {folder}")
        for argv in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER],
        ):
            done = subprocess.run(argv, capture_output=True, text=True)
            if done.returncode:
                report.note(f"{PEER} cannot be installed, and is left out: {done.stderr[-300:]}")
                return None
        is_complete.touch()
    return str(python)
