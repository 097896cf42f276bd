"""`zot ext torture`: chooses the extension, plays the faults, and prints what held."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.ext.author.doctor import select_extensions
from cli.json_line import print_json
from cli.os_errors import UnableError
from cli.terminal import complain, is_screen
from cli.version import VERSION
from supervisor.harness.harness import Harness, HarnessInterruptedError
from supervisor.home.config import load_config
from supervisor.home.zot_home import zot_home
from supervisor.torture.boxes import Boxes
from supervisor.torture.runner import torture
from supervisor.torture.score import Outcome
from wire.exit_codes import Status
from wire.text import counted

if TYPE_CHECKING:
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.torture.runner import Torture
    from supervisor.torture.score import Row

STYLES = {Outcome.HELD: "green", Outcome.NOT_HELD: "bold red", Outcome.NOT_APPLICABLE: "dim"}
OUTCOME_WIDTH = max(len(outcome.value) for outcome in Outcome)


@dataclass(frozen=True)
class TortureRequest:
    """The arguments of `zot ext torture`. `least` is a score, from 0 to 100."""

    path: str
    seed: int | None
    minutes: float
    least: float
    as_json: bool


def run_torture(request: TortureRequest) -> int:
    """Returns the exit status. Raises `UnableError`, `ConfigError` and `HarnessInterruptedError`."""
    home = zot_home()
    config = load_config(home)
    found = _find(request.path, home)
    seed = int.from_bytes(os.urandom(4)) if request.seed is None else request.seed
    progress, boxes = _Progress(request), Boxes(home, config, VERSION)
    try:
        with Harness(owns_process=True, config=config) as harness:
            result = torture(
                harness, found, seed=seed, seconds=request.minutes * 60.0, on_begin=progress.begin,
                on_trial=progress.show, boxes=boxes,
            )  # fmt: skip
    except HarnessInterruptedError:
        progress.end()
        if progress.result is not None:
            _report(progress.result, boxes, request, is_cut=True)
        raise
    progress.end()
    _report(result, boxes, request)
    has_passed = not result.failure and result.score.percent >= request.least
    return 0 if has_passed else Status.ERROR.exit_code


def _report(result: Torture, boxes: Boxes, request: TortureRequest, *, is_cut: bool = False) -> None:
    """Prints the faults that were tried: all of them, unless the torture `is_cut` short."""
    if boxes.trouble:
        complain("ext torture", f"no black boxes: {boxes.trouble}")
    if request.as_json:
        _print_records(result, "interrupted" if is_cut else result.failure)
    else:
        _print(result)


def _find(path: str, home: Path) -> FoundExtension:
    """The extension as `zot ext doctor` finds it. Raises `UnableError` if it cannot be started."""
    chosen = select_extensions((path,), Path.cwd(), home)
    for report in chosen.reports:
        fault = next((f"{each.message}; {each.advice}".rstrip("; ") for each in report.findings), "")
        raise UnableError(f"{path}: {report.skipped or fault or 'it has nothing to start'}", Status.USAGE)
    return chosen.found[0]


class _Progress:
    """The number of trials so far, on a terminal."""

    def __init__(self, request: TortureRequest) -> None:
        self._is_shown = not request.as_json and is_screen(2)
        self.result: Torture | None = None
        """The rows so far; None before the first fault."""
        self._total = 0
        self._done = 0
        self._failed: set[str] = set()

    def begin(self, result: Torture) -> None:
        self.result = result
        self._total = len(result.rows)

    def show(self, row: Row) -> None:
        self._done += 1
        if row.outcome is Outcome.NOT_HELD:
            self._failed.add(row.fault.name)
        if self._is_shown:
            of_all = f" of {self._total}" if self._done <= self._total else ""
            failed = f", {len(self._failed)} did not hold" if self._failed else ""
            os.write(2, f"\r\x1b[K{self._done}{of_all} faults{failed}  {row.fault.name}".encode())

    def end(self) -> None:
        if self._is_shown:
            os.write(2, b"\r\x1b[K")


# --- the output ---------------------------------------------------------------------------------------------


def _print_records(result: Torture, failure: str) -> None:
    subject, score = result.subject, result.score
    for row in result.tried:
        print_json(_record(row))
    print_json(
        {
            "name": subject.found.manifest.name,
            "score": score.percent,
            "held": score.held,
            "applicable": score.applicable,
            "faults": score.rows,
            "seed": result.seed,
            "asked": None if subject.probe is None else str(subject.probe),
            "failure": failure or None,
        }
    )


def _record(row: Row) -> dict[str, Any]:
    return {
        "fault": row.fault.name,
        "family": row.fault.family,
        "provoked": row.fault.provoked,
        "good": row.fault.good,
        "outcome": row.outcome.value,
        "reason": row.reason or None,
        "trials": row.trials,
        "failed": row.failed,
        "seconds": round(row.seconds, 3),
        "box": None if row.box is None else str(row.box),
    }


def _print(result: Torture) -> None:
    from cli.styled_lines import StyledLines

    lines = StyledLines()
    found, score = result.subject.found, result.score
    lines.put((found.manifest.name, "bold"), (f"  {found.where}", "dim"))
    if result.failure:
        lines.put(("did not work without any fault: ", STYLES[Outcome.NOT_HELD]), (result.failure, ""))
        lines.advice(f"zot ext doctor {found.manifest.name}", 2)
        return
    asked = "it answers nothing" if result.subject.probe is None else f"asked: {result.subject.probe}"
    lines.put((f"{asked}; seed {result.seed}", "dim"))
    width = max((len(row.fault.name) for row in result.tried), default=0)
    family = ""
    for row in result.tried:
        if row.fault.family != family:
            family = row.fault.family
            lines.put((family, "bold"))
        of_all = f"{row.failed} of {row.trials}: " if row.failed and row.trials > 1 else ""
        lines.put(
            (f"  {row.outcome.value:{OUTCOME_WIDTH}}  ", STYLES[row.outcome]),
            (f"{row.fault.name:{width}}  " if row.reason else row.fault.name, ""),
            (f"{of_all}{row.reason}", "dim" if row.outcome is Outcome.NOT_APPLICABLE else ""),
        )
        if row.outcome is Outcome.NOT_HELD:
            lines.advice(f"a good extension: {row.fault.good}", OUTCOME_WIDTH + 2)
            if row.box is not None:
                lines.put((f"{'':{OUTCOME_WIDTH + 2}} black box: {row.box}", "dim"))
    trials, tried = sum(row.trials for row in result.rows), len(result.tried)
    repeated = f", in {counted(trials, 'trial')}" if trials > tried else ""
    untried = f", {score.rows - tried} not tried" if tried < score.rows else ""
    others = tried - score.applicable
    said = f"{score.held} of {counted(score.applicable, 'fault')} held{repeated}; {others} not applicable{untried}"
    lines.put((f"score {score.percent:g}", "bold"), (f"  {said}", ""))
