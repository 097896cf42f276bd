"""`zot doctor`: what is in force on this machine, what is wrong, and what to do about it. Starts no extension."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from cli.doctor.checks import Check, Level, examine
from wire.events import Status
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME_WIDTH = 12
STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}


def run_doctor(*, as_json: bool) -> int:
    """Prints a line for each check, or with `as_json` one object for all; returns 0 if none of them failed, else 1."""
    checks = examine()
    failed = any(check.level is Level.FAIL for check in checks)
    if as_json:
        # Escapes whatever is no text: a path may be any bytes.
        print(json.dumps({"ok": not failed, "checks": [_record(check) for check in checks]}))  # noqa: T201
    else:
        _print(checks)
    return Status.ERROR.exit_code if failed else 0


def _record(check: Check) -> dict[str, str]:
    return {"name": check.name, "level": check.level.value, "message": check.message, "advice": check.advice}


def _print(checks: Sequence[Check]) -> None:
    from rich.console import Console
    from rich.text import Text

    # What cannot be encoded must not stop the rest.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    console = Console(highlight=False, soft_wrap=True)
    for check in checks:
        line = Text(f"{check.level.value:5}", style=STYLES[check.level])
        line.append(f"{check.name:{NAME_WIDTH}} ", style="bold")
        line.append(_one_line(check.message), style="default")
        console.print(line)
        if check.advice:
            console.print(Text(f"{'':5}{'':{NAME_WIDTH}} → {_one_line(check.advice)}", style="dim"))
    console.print(_summary(checks))


def _one_line(text: str) -> str:
    return printable(text).replace("\n", " ")


def _summary(checks: Sequence[Check]) -> str:
    counts = {level: sum(check.level is level for check in checks) for level in Level}
    said = [f"{counts[Level.FAIL]} failed"] if counts[Level.FAIL] else []
    if count := counts[Level.WARN]:
        said.append(f"{count} warning{'s' * (count > 1)}")
    return ", ".join(said) or "nothing is wrong"
