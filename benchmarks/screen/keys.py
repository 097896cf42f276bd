"""From a key to its echo while others flood, beside a bare prompt on the same machine at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.report import Table
from benchmarks.rpc_peer import zot, zot_env
from benchmarks.screen.echoes import Typist, type_keys
from benchmarks.screen.pty_program import PtyProgram
from benchmarks.screen.start import PROMPT, READY
from benchmarks.workshop import CHILDREN, PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop

KEYS, QUICK_KEYS = 1000, 150
MOST_MS = 50.0
SETTLE_S, QUICK_SETTLE_S = 3.0, 1.0
"""Seconds from the beginning of a flood to the first key."""
EXTENSIONS = 50


@dataclass(frozen=True)
class Row:
    """A flood. `extensions` are functions of `tests/children/flooder.py`, `lines` are entered before the first key,
    `again` is entered whenever the input is emptied, and the keys are spread over `starts` starts of the screen."""

    name: str
    extensions: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    again: str = ""
    starts: int = 1
    begins: bool = True
    """Whether the extensions begin by themselves."""


ALL = ("notes", "long_notes", "long_lines", "quiet")
ROWS = {
    "quiet": Row("quiet"),
    "stream": Row("the model writes 200 pieces a second", lines=("go",)),
    "code": Row("the model writes long code and tables", lines=("code",)),
    "notes": Row("an extension floods notes", ("notes",)),
    "notes3": Row("three extensions flood notes", ("notes",) * 3),
    "long-notes": Row("notes of 250 KiB", ("long_notes",)),
    "panel": Row("a panel shows the key, drawn again on a key only", ("echoes",)),
    "redraws": Row("a panel shows the key, drawn again 1,000 times a second", ("redraws",)),
    "panels": Row("panels open and close", ("panels",)),
    "hang": Row("a command never answers", ("quiet",), ("/e0-hang",)),
    "long-lines": Row("lines of 15 MiB", ("long_lines",)),
    "tool": Row("results of 6 MiB, one after another", ("quiet",), ("call e0_tool",)),
    "display": Row("texts of 4 MiB, one in 1.3 s", ("long_displays",), ("/e0",), "/e0\r"),
    "bash": Row("a command prints without end", lines=("!yes",)),
    "model-bash": Row("a command prints long lines without end", lines=("!yes $(printf %01000d 0)",)),
    "starts": Row(f"{EXTENSIONS} extensions start", ("quiet",) * EXTENSIONS, starts=4),
    "all": Row("all at once", ALL, ("go", "!yes", "/e3-hang")),
}


def keys(report: Report, shop: Workshop, claims: Claims, *, quick: bool, only: list[str] | None = None) -> None:
    count = QUICK_KEYS if quick else KEYS
    table = Table(
        "from a key to its echo, ms", ("", "p50", "p99", "most", "lost", "bare p50", "bare p99", "bare most", "keys")
    )
    for key, row in ROWS.items():
        if only and key not in only:
            continue
        report.progress(row.name)
        screen, bare = _measure(shop, row, count, quick=quick)
        figures, floor = _figures(screen), _figures(bare)
        table.add(row.name, *figures, screen.count(float("inf")), *floor, len(screen))
        claims.add(
            f"{row.name}: p99 at most {MOST_MS:g} ms", f"{figures[1]:.1f} ms",
            None if quick else figures[1] <= MOST_MS,
        )  # fmt: skip
    report.show(table)


def _figures(taken: list[float]) -> tuple[float, float, float]:
    """p50, p99 and the most, in ms."""
    ordered = sorted(taken)
    at = [ordered[min(int(fraction * len(ordered)), len(ordered) - 1)] * 1e3 for fraction in (0.5, 0.99)]
    return at[0], at[1], ordered[-1] * 1e3


def _measure(shop: Workshop, row: Row, count: int, *, quick: bool) -> tuple[list[float], list[float]]:
    """Seconds of each key on the screen, and in the bare prompt."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(row.starts):
        with ExitStack() as ends:
            port = ends.enter_context(_Model()).port
            folder = shop.folder / "screen"
            project = folder / "project"
            project.mkdir(parents=True, exist_ok=True)
            env = zot_env(folder)
            flags = ["--api-key", "k", "--base-url", f"http://127.0.0.1:{port}", "--no-session"]
            for number, kind in enumerate(row.extensions):
                flags += ["-e", str(_extension(shop, f"e{number}", kind))]
            bare = ends.enter_context(
                PtyProgram([sys.executable, str(PROGRAMS / "bare_prompt.py")], cwd=project, env=env)
            )
            bare.wait_for("0m>")
            screen = ends.enter_context(PtyProgram([*zot(), *flags], cwd=project, env=env))
            if row.starts > 1:
                screen.wait_for(PROMPT)
            else:
                screen.wait_for(READY)
                for line in row.lines:
                    screen.write(line + "\r")
                screen.drain(QUICK_SETTLE_S if quick else SETTLE_S)
            typists = [Typist(screen, row.again), Typist(bare)]
            type_keys(typists, count // row.starts)
            for mine, typist in zip(taken, typists, strict=True):
                mine.extend(typist.taken)
            screen.write("\x03/exit\r")  # the first key closes a panel or empties the input
            screen.drain()
    return taken


def _extension(shop: Workshop, name: str, kind: str) -> Path:
    folder = shop.folder / "extensions" / f"{name}-{kind}"
    if not folder.exists():
        folder.mkdir(parents=True)
        program, *args = shop.python(CHILDREN / "flooder.py", name, kind, "begin")
        (folder / "extension.json").write_text(json.dumps({"name": name, "exec": program, "args": args}))
    return folder


class _Model:
    """The model server, as a context manager."""

    def __enter__(self) -> _Model:
        argv = [sys.executable, str(PROGRAMS / "endless_model.py")]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
