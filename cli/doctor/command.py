"""`zot doctor`: shows the settings in force on this machine, faults and advice. Starts no extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.doctor.checks import examine
from cli.json_line import print_json
from supervisor.harness.findings import FindingLevel
from wire.exit_codes import Status
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.doctor.host_checks import Check

NAME_WIDTH = 12


def run_doctor(*, as_json: bool) -> int:
    """Prints a line for each check, or with `as_json` one object for all. Returns 1 if a check failed, else 0."""
    checks = examine()
    failed = any(check.level is FindingLevel.FAIL for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [_record(check) for check in checks]})
    else:
        _print(checks)
    return Status.ERROR.exit_code if failed else 0


def _record(check: Check) -> dict[str, Any]:
    return check._asdict() | {"level": check.level.value}


def _print(checks: Sequence[Check]) -> None:
    from cli.styled_lines import STYLES, StyledLines

    lines = StyledLines()
    for check in checks:
        lines.put(
            (f"{check.level.value:5}", STYLES[check.level.value]),
            (f"{check.name:{NAME_WIDTH}} ", "bold"),
            (check.message, "default"),
        )
        if check.advice:
            lines.advice(check.advice, 5 + NAME_WIDTH)
    lines.put((_summary(checks), ""))


def _summary(checks: Sequence[Check]) -> str:
    counts = {level: sum(check.level is level for check in checks) for level in FindingLevel}
    said = [f"{counts[FindingLevel.FAIL]} failed"] if counts[FindingLevel.FAIL] else []
    if count := counts[FindingLevel.WARN]:
        said.append(counted(count, "warning"))
    return ", ".join(said) or "nothing is wrong"
