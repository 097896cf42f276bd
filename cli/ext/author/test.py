"""`zot ext test`: runs the scripts of an extension and prints their results."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.tools.files.user_file import replace_file
from agent.tools.outcome import ToolError
from cli.ext.author.box_script import is_black_box_file, play_box
from cli.ext.author.script_report import report_for
from cli.ext.script_target import check_conversation, project_at, script_target
from cli.json_line import print_json
from cli.os_errors import UnableError
from cli.terminal import complain
from supervisor.discovery.trust_store import TrustStore
from supervisor.harness.harness import Harness
from supervisor.harness.new_answers import rewrite
from supervisor.harness.result import recording
from supervisor.harness.script import Script, ScriptHeader, read_script
from supervisor.harness.script_runner import collect, play, record
from supervisor.home.config import load_config
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.result import ScriptResult

GREETING = "handshake and shutdown"


@dataclass(frozen=True)
class ScriptsRequest:
    """The arguments of `zot ext test`. `wait_s` is in seconds."""

    path: str
    scripts: tuple[str, ...]
    record: str | None
    update: bool
    wait_s: float
    cwd: str | None
    as_json: bool


def run_test(request: ScriptsRequest) -> int:
    """Returns the exit status: 0 if all passed, 1 if a script failed. Raises `UnableError`, `ManifestError`,
    `ScriptError` and `ConfigError` if nothing could be run, and `HarnessInterruptedError`."""
    found, scripts = _prepare(request)
    config = load_config(zot_home())
    cwd = project_at(request.cwd) if request.cwd else None
    with Harness(owns_process=True, config=config) as harness:
        if request.record is not None:
            return _record(harness, found, scripts, request, cwd)
        report = report_for(found, as_json=request.as_json)
        if request.update:
            return _update(harness, found, scripts, request, cwd)
        for script in scripts or [Script(GREETING, ())]:
            report.add(script, _play(harness, found, script, cwd, request.wait_s))
    report.close(has_scripts=bool(scripts))
    if advice := TrustStore(zot_home()).data_advice(found):
        complain("ext test", f"{found.manifest.name} is no longer trusted (its files have changed); {advice}")
    return Status.ERROR.exit_code if report.failed else 0


def _prepare(request: ScriptsRequest) -> tuple[FoundExtension, list[Script]]:
    check_conversation(request.wait_s, request.record)
    found = _find_extension(request.path)
    if request.record is not None:
        if request.update:
            raise UnableError(
                "choose one of --update and --record: the first changes SCRIPT, the second makes another", Status.USAGE
            )
        if len(request.scripts) != 1:
            raise UnableError("--record needs exactly one SCRIPT, with the host's lines", Status.USAGE)
    paths = [Path(name) for name in request.scripts] or default_scripts(Path(request.path))
    if request.update and not paths:
        raise UnableError(
            f"--update needs a script, and there is none in {Path(request.path, 'tests')}; write the host's"
            " lines first",
            Status.USAGE,
        )
    scripts = [_read(path, request) for path in paths]
    if request.cwd and (having := next((script for script in scripts if script.about.project is not None), None)):
        raise UnableError(f"--cwd: {having.name} brings its own project; leave --cwd out", Status.USAGE)
    return found, scripts


def _read(path: Path, request: ScriptsRequest) -> Script:
    """The script, or the black box, which is a script without lines. Raises `ScriptError` and `UnableError`."""
    if not is_black_box_file(path):
        return read_script(path)
    if request.update or request.record is not None:
        raise UnableError(f"{path} is a black box; --update and --record are for scripts", Status.USAGE)
    return Script(str(path), (), ScriptHeader(title="black box"))


def _play(harness: Harness, found: FoundExtension, script: Script, cwd: Path | None, wait_s: float) -> ScriptResult:
    if script.steps or not is_black_box_file(Path(script.name)):
        return play(harness, found, script, cwd=cwd, wait_s=wait_s)
    return play_box(harness, found, Path(script.name), cwd=cwd, wait_s=wait_s)


def _find_extension(path: str) -> FoundExtension:
    if Path(path).is_file():
        raise UnableError(
            f"{path} is a file; name the extension's folder first: zot ext test PATH SCRIPT", Status.USAGE
        )
    return script_target(path)


def default_scripts(folder: Path) -> list[Path]:
    """The scripts in the folder of an extension, sorted by name."""
    return sorted((folder / "tests").glob("*.jsonl")) or sorted(folder.glob("test*.jsonl"))


def _record(
    harness: Harness, found: FoundExtension, scripts: Sequence[Script], request: ScriptsRequest, cwd: Path | None
) -> int:
    assert request.record is not None
    outcome = record(harness, found, scripts[0], cwd=cwd, wait_s=request.wait_s)
    if outcome.failure is not None:
        report = report_for(found, as_json=request.as_json)
        report.add(scripts[0], outcome)
        print(f"zot ext test: {request.record} has not been written", file=sys.stderr)  # noqa: T201
        return Status.ERROR.exit_code
    text = recording(outcome, scripts[0].about)
    target = Path(request.record)
    _write(target, text)
    lines = text.count(b"\n")
    if request.as_json:
        print_json({"script": str(target), "ok": True, "lines": lines})
    else:
        print(f"wrote {target}: {counted(lines, 'line')}. Replace what changes from run to run by ${{any}}")  # noqa: T201
    return 0


def _write(path: Path, text: bytes) -> None:
    """Replaces the file in one step, or raises `UnableError`."""
    try:
        replace_file(str(path), text)
    except ToolError as error:
        raise UnableError(f"{error}; nothing is written", Status.USAGE) from None


def _update(
    harness: Harness, found: FoundExtension, scripts: Sequence[Script], request: ScriptsRequest, cwd: Path | None
) -> int:
    """Writes into each script what the extension says now. A script whose run fails stays as it is."""
    report = report_for(found, as_json=request.as_json)
    for script in scripts:
        path = Path(script.name)
        text = path.read_bytes()
        outcome = collect(harness, found, script, cwd=cwd, wait_s=request.wait_s)
        if outcome.failure is not None:
            report.add(script, outcome)
            print(f"zot ext test: {script.name} stays as it was", file=sys.stderr)  # noqa: T201
            continue
        new = rewrite(text, script, outcome.answers, outcome.places)
        if new.changes:
            _write(path, new.text)
        report.updated(script, new)
    report.close_update()
    return Status.ERROR.exit_code if report.failed else 0
