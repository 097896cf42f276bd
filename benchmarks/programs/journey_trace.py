"""Writes down which files of a checkout a process passes. `journeys` puts it on the path as `sitecustomize`.

Each file is written at its first function that runs between the begin and the end of one of `JOURNEY_FROM`, qualified
names of functions; with `JOURNEY_ON` also of all that follows.
"""

from __future__ import annotations

import os
import sys
from typing import Any

OPTIMIZED = 0x1
"""The flag of a function's code; bodies of modules and classes, which run at an import, have it not."""
WITHIN_OTHERS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


def trace(root: str, out: str, begins: frozenset[str], *, goes_on: bool) -> None:
    seen: set[str] = set()
    depth = 0

    def note(frame: Any, event: str, _arg: object) -> None:
        nonlocal depth
        code = frame.f_code
        if event == "return":
            depth -= code.co_qualname in begins and not goes_on
            return
        if event != "call":
            return
        depth += code.co_qualname in begins
        if not depth or not code.co_filename.startswith(root) or not code.co_flags & OPTIMIZED:
            return
        name = code.co_filename[len(root) :]
        if name not in seen and code.co_name not in WITHIN_OTHERS:
            seen.add(name)
            with open(out, "a", encoding="utf-8") as file:
                file.write(name + "\n")

    sys.setprofile(note)


if "JOURNEY_OUT" in os.environ:
    trace(
        os.environ["JOURNEY_ROOT"],
        os.environ["JOURNEY_OUT"],
        frozenset(os.environ["JOURNEY_FROM"].split()),
        goes_on="JOURNEY_ON" in os.environ,
    )
