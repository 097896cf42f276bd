"""`zot ext replay`: reads a black box, chooses the extension, plays the frames, and says whether it falls again."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.ext.author.box_script import read_box
from cli.ext.author.doctor import select_extensions, select_installed
from cli.ext.script_target import project_at
from cli.json_line import print_json
from cli.os_errors import UnableError
from cli.terminal import complain, terminal_text
from supervisor.harness.harness import Harness
from supervisor.harness.replay import replay
from supervisor.home.config import load_config
from supervisor.home.zot_home import zot_home
from supervisor.torture.arguments import valid_arguments
from wire.exit_codes import Status
from wire.text import counted

if TYPE_CHECKING:
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.replay import ReplayResult
    from wire.traces.black_box import KeptBox

FULL = '{"black_box": "full"} in config.json keeps contents'


@dataclass(frozen=True)
class ReplayRequest:
    """The arguments of `zot ext replay`. `wait_s` is in seconds."""

    file: str
    name: str | None
    cwd: str | None
    wait_s: float
    as_json: bool


def run_replay(request: ReplayRequest) -> int:
    """Returns the exit status: 1 if it falls again, 0 if not. Raises `UnableError` if nothing can be played,
    `ConfigError` and `HarnessInterruptedError`."""
    box = read_box(Path(request.file))
    if box.fault:
        complain("ext replay", f"{request.file}: {box.fault}")
    found = _find(request.name, box, request.file)
    cwd = project_at(request.cwd) if request.cwd else None
    with Harness(owns_process=True, config=load_config(zot_home())) as harness:
        result = replay(harness, found, box, valid_arguments, cwd=cwd, wait_s=request.wait_s)
    if request.as_json:
        print_json(
            {"file": request.file, "extension": found.manifest.name, "falls": bool(result.fall)}
            | {**asdict(result), "fall": result.fall or None}
            | {"recorded": {"fall": box.header.fall, "cause": box.header.cause}}
        )
    else:
        _print(result)
    if result.is_void:
        return Status.USAGE.exit_code
    return Status.ERROR.exit_code if result.fall else 0


def _find(name: str | None, box: KeptBox, file: str) -> FoundExtension:
    """The extension that the user names, as `zot ext doctor` finds it; without a name the installed one of which the
    black box is. That may be another person's, and starts no other program. Raises `UnableError` if it cannot be
    started."""
    header = box.header
    if name is not None:
        chosen = select_extensions((name,), Path.cwd(), zot_home())
    else:
        try:
            chosen = select_installed(header.extension, zot_home())
        except UnableError as error:
            command = shlex.join(("zot", "ext", "replay", file, header.folder))
            raise UnableError(f"{error}; name its folder, if you trust it: {command}", Status.USAGE) from None
    for report in chosen.reports:
        fault = next((f"{each.message}; {each.advice}".rstrip("; ") for each in report.findings), "")
        raise UnableError(f"{report.name}: {report.skipped or fault or 'it has nothing to start'}", Status.USAGE)
    found = chosen.found[0]
    if found.manifest.dialect != header.dialect:
        raise UnableError(
            f"{found.manifest.name} speaks {found.manifest.dialect}, and the black box is of {header.dialect}",
            Status.USAGE,
        )
    return found


def _print(result: ReplayResult) -> None:
    if result.is_made_up:
        complain("ext replay", f"the black box has no contents, those of its requests are made up; {FULL}")
    if result.left_out:
        complain("ext replay", f"{counted(result.left_out, 'frame')} of the host left out: not whole, or not asked for")
    print(terminal_text(str(result)))  # noqa: T201
    for line in result.stderr[-5:] if result.fall else ():
        print(f"    | {terminal_text(line)}")  # noqa: T201
