"""Extensions for runs, private to each run or shared through the process of a `zot host`; a run is a `Host` here.

Both ways start the same folders with the same manifests, so that one test holds for both.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from agent.engine.hosted_extensions import HostedExtensions
from agent.options import Options
from supervisor.discovery.discover import discover
from tests.support.extension_folder import child_argv, folder
from tests.support.host import LATER, ONCE, QUICK, SOON, Host, source
from tests.support.host_process import hosting
from wire import control

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host_process import Hosted
    from tests.support.zot_process import Zot

VERSION = "1.0"
BACK = {**SOON, "policy": "permanent"}
STAYS_DOWN = {**LATER, "policy": "permanent"}


class SharedRun(Host):
    """A run: its extensions are its own, or those of the host. `lines` are for its user."""

    def __init__(self, place: Path, stand: Stand, by: str | None = None, **options: Any) -> None:
        """`by`: the attach socket, if it is not that of the host."""
        place.mkdir(parents=True, exist_ok=True)
        super().__init__(place, owns_process=False, **options)
        self.lines: list[str] = []
        self.folders = list(stand.folders)
        self.refusal = ""
        """Why the host does not serve it."""
        self.hosted: HostedExtensions | None = None
        if stand.host is not None:
            given = Options(
                host=by or str(stand.host.pid), home=stand.zot.home, cwd=str(stand.zot.cwd), model="m", reply_tokens=1,
                system="",
            )  # fmt: skip
            self.hosted = HostedExtensions(self.loop, given, self.supervisor, VERSION, self.lines.append)
        self.session_id = self.supervisor.observers.session_id

    def launch(self) -> None:
        self.found = list(discover([str(each) for each in self.folders], None, None).found)
        if self.hosted is not None:
            taken, self.refusal = self.hosted.divide(self.found)
            self.found = list(taken)
        super().launch()
        self.supervisor.observers.begin_session()

    def write_own(self, name: str, code: str) -> None:
        """Adds an extension with this source that this run alone has."""
        script = self.folder / f"{name}.py"
        script.write_text(source(code))
        argv = [sys.executable, "-I", "-S", str(script)]
        self.folders.append(folder(self.folder, name, argv, timeouts=QUICK, restart=ONCE))

    def stop(self, **how: Any) -> float:
        took = super().stop(**how)
        if self.hosted is not None:
            self.hosted.close()
        return took

    def said(self, name: str) -> str:
        """All notices about an extension."""
        return "\n".join(message for _, message in self.said_of(name))


class Stand:
    """The extensions of a test. With `is_hosted`, `start` starts a host that shares all of them."""

    def __init__(self, zot: Zot, *, is_hosted: bool) -> None:
        self.zot = zot
        self.is_hosted = is_hosted
        self.folders: list[Path] = []
        self.names: list[str] = []
        self.host: Hosted | None = None
        self._stack = ExitStack()
        self._runs = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def add(self, child: str, *argv: str | Path, name: str | None = None, **manifest: Any) -> None:
        """Adds one of `tests/children`."""
        self._add(name or child.partition(".")[0], child_argv(child, *argv), manifest)

    def write(self, name: str, code: str, **manifest: Any) -> None:
        """Adds an extension with this source."""
        script = self.zot.folder / f"{name}.py"
        script.write_text(source(code))
        self._add(name, [sys.executable, "-I", "-S", str(script)], manifest)

    def _add(self, name: str, argv: list[str], manifest: dict[str, Any]) -> None:
        fields = {"timeouts": {}, "restart": ONCE, **manifest}
        fields["timeouts"] = {**QUICK, **fields["timeouts"]}
        self.folders.append(folder(self.zot.folder / "extensions", name, argv, **fields))
        self.names.append(name)

    def start(self, *flags: str, shares: bool = True) -> Self:
        """Starts the host, if there is one."""
        if self.is_hosted:
            share = [word for name in self.names for word in ("--share", name)] if shares else []
            cwd = ("--cwd", str(self.zot.cwd))
            self.host = self._stack.enter_context(hosting(self.zot, *self.folders, flags=(*cwd, *share, *flags)))
        return self

    def run(self, **options: Any) -> SharedRun:
        """Starts a run. It is stopped with the stand."""
        made = self.enter(**options)
        made.start()
        return made

    def enter(self, **options: Any) -> SharedRun:
        """Makes a run that is not started yet."""
        self._runs += 1
        return self._stack.enter_context(SharedRun(self.zot.folder / f"run-{self._runs}", self, **options))

    def pid(self, run: SharedRun, name: str) -> int:
        """The pid of the extension's process, wherever it runs."""
        if self.host is None:
            pid = run.extension(name).lead.pid
        else:
            (pid,) = self.host.stats()[name].pids[:1]
        assert pid is not None
        return pid


def begin(run: SharedRun, tool: str, **args: Any) -> list[Any]:
    """Begins a call. Returns a list that gets its answer."""
    answers: list[Any] = []
    run.begin_call(tool, json.dumps(args).encode(), answers.append)
    return answers


def is_written(file: Path) -> bool:
    return file.exists() and bool(file.read_text())


def reload(stand: Stand, run: SharedRun) -> None:
    """Reloads the extension `one` as a user does."""
    outcomes: list[Any] = []
    if stand.host is None:
        run.reloader.begin("one", outcomes.extend)
        run.until(lambda: outcomes)
        assert outcomes[0].outcome == "reloaded", outcomes
        return
    client = stand.host.connect()
    client.send(control.Reload(client.next_id(), "one"))
    run.until(lambda: "reloaded" in [kind for kind, _ in run.said_of("one")])
    client.close()
