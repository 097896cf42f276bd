"""`zot ext test`: runs the scripts of an extension and prints their results."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.harness.harness import Harness, HarnessInterruptedError
from supervisor.harness.matching import shown
from supervisor.harness.script import Script, ScriptError, Side, read_script
from supervisor.harness.script_runner import found_in, play, record, recording
from supervisor.home.config import ConfigError, load_config
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.manifest import ManifestError
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.discovery.discover import Found
    from supervisor.harness.result import ScriptResult

STEPS_SHOWN = 10
"""The most lines shown of a script before its failed line, and of stderr."""
FRAME_SHOWN = 160
"""The most characters of a frame that are shown."""
GREETING = "handshake and shutdown"


@dataclass(frozen=True)
class ScriptsRequest:
    """The arguments of `zot ext test`. `wait_s` is in seconds."""

    path: str
    scripts: tuple[str, ...]
    record: str | None
    wait_s: float
    cwd: str | None
    as_json: bool


class _UsageError(Exception):
    """The scripts cannot be run; the text says why in one line."""


def run_test(request: ScriptsRequest) -> int:
    """Returns the exit status: 0 if all passed, 1 if a script failed, 2 if nothing could be run, 130 after Ctrl-C."""
    try:
        found, scripts = _prepare(request)
        config = load_config(zot_home())
        cwd = Path(request.cwd).absolute() if request.cwd else None
        if cwd is not None and not cwd.is_dir():
            raise _UsageError(f"--cwd {request.cwd}: no such folder")
        with Harness(owns_process=True, config=config) as harness:
            if request.record is not None:
                return _record(harness, found, scripts, request, cwd)
            report = _JsonReport() if request.as_json else _Report(found)
            for script in scripts or [Script(GREETING, ())]:
                report.add(script, play(harness, found, script, cwd=cwd, wait_s=request.wait_s))
    except HarnessInterruptedError:
        return Status.INTERRUPTED.exit_code
    except (_UsageError, ManifestError, ScriptError, ConfigError) as error:
        print(f"zot ext test: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    report.close(has_scripts=bool(scripts))
    return Status.ERROR.exit_code if report.failed else 0


def _prepare(request: ScriptsRequest) -> tuple[Found, list[Script]]:
    if not isfinite(request.wait_s):
        raise _UsageError(f"--wait {request.wait_s}: not a number of seconds")
    folder = Path(request.path)
    if folder.is_file():
        raise _UsageError(f"{request.path} is a file; name the extension's folder first: zot ext test PATH SCRIPT")
    try:
        found = found_in(folder)
    except ManifestError as error:
        raise _UsageError(f"{request.path}: {error}") from None
    if request.record is not None:
        if len(request.scripts) != 1:
            raise _UsageError("--record needs exactly one SCRIPT, with the host's lines")
        if os.path.lexists(request.record):
            raise _UsageError(f"--record {request.record}: there is such a file already")
    paths = [Path(name) for name in request.scripts] or default_scripts(folder)
    return found, [read_script(path) for path in paths]


def default_scripts(folder: Path) -> list[Path]:
    """The scripts in the folder of an extension, sorted by name."""
    return sorted((folder / "tests").glob("*.jsonl")) or sorted(folder.glob("test*.jsonl"))


def _record(
    harness: Harness, found: Found, scripts: Sequence[Script], request: ScriptsRequest, cwd: Path | None
) -> int:
    assert request.record is not None
    outcome = record(harness, found, scripts[0], cwd=cwd, wait_s=request.wait_s)
    if outcome.failure is not None:
        report = _JsonReport() if request.as_json else _Report(found)
        report.add(scripts[0], outcome)
        print(f"zot ext test: {request.record} has not been written", file=sys.stderr)  # noqa: T201
        return Status.ERROR.exit_code
    text = recording(outcome)
    target = Path(request.record)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(text)
        unfinished.rename(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise _UsageError(f"--record {request.record}: cannot be written: {error.strerror}") from None
    lines = text.count(b"\n")
    if request.as_json:
        print(json.dumps({"script": str(target), "ok": True, "lines": lines}))  # noqa: T201
    else:
        print(f"wrote {target}: {lines} lines. Replace what changes from run to run by ${{any}}")  # noqa: T201
    return 0


class _JsonReport:
    """Prints a JSON object for each script, and one with the totals."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def add(self, script: Script, outcome: ScriptResult) -> None:
        self.passed += outcome.has_passed
        self.failed += not outcome.has_passed
        record: dict[str, Any] = {
            "script": outcome.script,
            "title": script.about.title,
            "ok": outcome.has_passed,
            "steps": outcome.steps,
            "done": outcome.done,
            "seconds": round(outcome.seconds, 3),
            "exit": outcome.exit,
        }
        if (failure := outcome.failure) is not None:
            record["failure"] = {
                "line": failure.step.line if failure.step else None,
                "reason": failure.reason,
                "expected": failure.step.frame if failure.step else None,
                "said": failure.said,
                "differences": [difference._asdict() for difference in failure.differences],
            }
            record["stderr"] = list(outcome.stderr)
        print(json.dumps(record))  # noqa: T201

    def close(self, *, has_scripts: bool) -> None:  # noqa: ARG002
        print(json.dumps({"passed": self.passed, "failed": self.failed}))  # noqa: T201


class _Report:
    """Prints lines for a person."""

    def __init__(self, found: Found) -> None:
        from rich.console import Console

        self.passed = self.failed = 0
        self._found = found
        self._console = Console(highlight=False, soft_wrap=True)

    def _line(self, *parts: tuple[str, str]) -> None:
        from rich.text import Text

        line = Text()
        for text, style in parts:
            line.append(printable(text), style=style)
        self._console.print(line)

    def add(self, script: Script, outcome: ScriptResult) -> None:
        self.passed += outcome.has_passed
        self.failed += not outcome.has_passed
        title = f" ({script.about.title})" if script.about.title else ""
        steps = f"{outcome.steps} line{'s' * (outcome.steps != 1)}, " if outcome.steps else ""
        if outcome.failure is None:
            self._line(
                ("ok    ", "green"), (f"{outcome.script}{title}", ""), (f"  {steps}{outcome.seconds:.2f} s", "dim")
            )
            return
        self._line(("FAIL  ", "bold red"), (f"{outcome.script}{title}", "bold"))
        before = script.steps[: outcome.done]
        if len(before) > STEPS_SHOWN:
            self._line((f"      … {len(before) - STEPS_SHOWN} lines before are as they should be", "dim"))
        for step in before[-STEPS_SHOWN:]:
            arrow = "→" if step.side is Side.HOST else "←"
            self._line(("      ok ", "green"), (f"line {step.line}: {arrow} {shown(step.frame, FRAME_SHOWN)}", "dim"))
        first, *rest = outcome.failure.lines()
        self._line(("      ", ""), (first, "red"))
        for line in rest:
            mark = line.strip()[:1]
            self._line(("      ", ""), (line, {"-": "green", "+": "red"}.get(mark, "")))
        if outcome.stderr:
            self._line(("      its last lines on stderr:", "dim"))
            for line in outcome.stderr[-STEPS_SHOWN:]:
                self._line((f"      | {line}", "dim"))

    def close(self, *, has_scripts: bool) -> None:
        said = f"{self.passed} passed"
        if self.failed:
            said += f", {self.failed} failed"
        self._line((said, "bold red" if self.failed else "bold green"))
        if not has_scripts:
            target = self._found.folder / "tests" / "first.jsonl"
            self._line(
                ("no scripts yet: ", ""),
                (f"zot ext drive {self._found.folder} --record {target}", "bold"),
                (" writes one while you try it out", ""),
            )
