"""From the start of `zot` on a terminal to its prompt, beside the version of zot and an import of prompt_toolkit."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.interval import of_median
from benchmarks.report import Table
from benchmarks.rpc_peer import zot, zot_env
from benchmarks.screen.pty_program import PtyProgram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop

TURNS, QUICK_TURNS = 30, 2
WARM_UPS = 2
MOST = 1.3
PROMPT, READY = "1m>", "$0.0000"
"""Parts of the output: the bold prompt, and the status line once the engine has answered."""


def start(report: Report, shop: Workshop, claims: Claims, *, quick: bool) -> None:
    project = shop.folder / "project"
    project.mkdir()
    env = zot_env(shop.folder)
    rows: list[tuple[float, float, float, float]] = []
    for turn in range((QUICK_TURNS if quick else TURNS) + WARM_UPS):
        report.progress(f"start, turn {turn}")
        with PtyProgram(zot(), cwd=project, env=env) as screen:
            prompt, ready = (screen.wait_for(text) - screen.began for text in (PROMPT, READY))
            screen.write("/exit\r")
            screen.drain()
        version = _seconds([*zot(), "--version"], project, env)
        imported = _seconds([sys.executable, "-c", "import prompt_toolkit"], project, env)
        if turn >= WARM_UPS:
            rows.append((prompt, ready, version, imported))
    table = Table("from the start, ms", ("", "median", "best", "turns"))
    for name, column in zip(
        ("the prompt", "the engine has answered", "zot --version", "import prompt_toolkit"),
        zip(*rows, strict=True),
        strict=True,
    ):
        table.add(name, median(column) * 1e3, min(column) * 1e3, len(rows))
    report.show(table)
    ratios = [prompt / (version + imported) for prompt, _, version, imported in rows]
    middle, low, high = of_median(ratios)
    claims.add(
        f"the prompt, of zot --version and import prompt_toolkit together: at most {MOST:g}",
        f"{middle:.2f} (95 %: {low:.2f} to {high:.2f})",
        None if quick else middle <= MOST,
    )


def _seconds(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> float:
    began = time.monotonic()
    subprocess.run(
        argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, start_new_session=True
    )  # Linux shares processors among sessions: each contender is one
    return time.monotonic() - began
