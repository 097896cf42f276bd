"""`zot demo`: a real run on the shipped cassette, in a temporary project, with the example extensions."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.configure import prepare
from agent.demo import CASSETTE, EXTENSIONS, PROJECT, PROMPT
from agent.headless import Headless
from agent.options import RunRequest
from cli.run import screen
from cli.version import VERSION
from supervisor.discovery.environment import is_secret
from supervisor.home.config import Config
from supervisor.home.scratch import scratch_folder
from supervisor.monitoring.rotated_file import StatsFileError
from wire.exit_codes import Status

if TYPE_CHECKING:
    from cli.run.run_view import RunPrinter

STATS = "demo.jsonl"
"""The file in the last line, which says how to see the charts of the demo."""


def run_demo(*, as_json: bool, stats: str | None = None) -> int:
    """Returns the exit status of the run. All files but `stats` are in a temporary folder; the user's `$ZOT_HOME` is
    not used."""
    _forget_secrets()
    with scratch_folder("demo") as folder:
        project = _project(folder)
        prepared = prepare(
            RunRequest(
                replay=str(CASSETTE),
                cwd=str(project),
                home=folder / "home",
                extensions=tuple(str(path) for path in _extensions()),
                discover=False,
                context_files=False,
                keep_session=False,
                stats=stats,
            )
        )
        try:
            view = None if as_json else _view()
            run = Headless(
                prepared.options,
                version=VERSION,
                make_provider=prepared.make_provider,
                readers=() if view is None else (view.show,),
                stdout=1 if as_json else None,
            )
        except StatsFileError as error:
            print(f"zot demo: {error}", file=sys.stderr)  # noqa: T201
            return Status.USAGE.exit_code
        if view is None:
            result = run.run(PROMPT)
            if stats is not None:
                print(f"zot demo: {_charts(stats)}", file=sys.stderr)  # noqa: T201
            return result.exit_code
        view.on_broken = run.stdout_broken
        view.title("A recorded model, real extensions, a temporary project")
        result = run.run(PROMPT)
        view.costs(result)
        view.hint(_charts(stats))
        return result.exit_code


def play_demo() -> int:
    """Opens the screen with the same project and the same recorded model; the prompt stands in the input. Returns the
    exit status."""
    _forget_secrets()
    with scratch_folder("demo") as folder:
        project = _project(folder)
        os.environ["ZOT_HOME"] = str(folder / "home")
        flags = {
            "replay": str(CASSETTE), "cwd": str(project), "ext": [str(path) for path in _extensions()],
            "no_ext": True, "no_context_files": True, "no_session": True,
        }  # fmt: skip
        return screen.open_screen(flags, (PROMPT,))


def _project(folder: Path) -> Path:
    """A copy of the project, with a folder that a guard will protect."""
    project = folder / "project"
    shutil.copytree(PROJECT, project)
    (project / "build").mkdir()
    return project


def _forget_secrets() -> None:
    """Takes the user's secrets out of the environment of this process: the demo needs none of them, so it does not say
    that its extensions did not get them."""
    for name, value in list(os.environ.items()):
        if is_secret(name, Config(), value):
            del os.environ[name]


def _view() -> RunPrinter:
    from cli.run.run_view import RunPrinter  # imports rich, which the event stream does not need

    return RunPrinter()


def _charts(stats: str | None) -> str:
    """How to see the charts of this run, in words and as a command that can be copied."""
    if stats is None:
        return f"As a page of charts: zot demo --stats {STATS} && zot report {STATS}"
    return f"As a page of charts: zot report {shlex.quote(stats)}"


def _extensions() -> list[Path]:
    """The example extensions that can run here. Names the others on stderr."""
    found = []
    for name in EXTENSIONS:
        if name == "turn-meter" and shutil.which("node") is None:
            print("zot demo: without turn-meter, which needs node; everything else runs", file=sys.stderr)  # noqa: T201
            continue
        found.append(_examples() / name)
    return found


def _examples() -> Path:
    """The folder of the example extensions: in an installed package inside `cli`, in the source tree at its root."""
    packaged = Path(__file__).parents[1] / "examples" / "extensions"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "examples" / "extensions"
