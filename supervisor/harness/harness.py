"""Where extensions are rehearsed: one loop, temporary folders, and the end of all that was started."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from supervisor.cleanup.env_marks import EXTENSION, TOKEN
from supervisor.cleanup.orphans import Orphans
from supervisor.discovery.environment import extension_environment
from supervisor.harness.matching import Places
from supervisor.harness.recorded_process import RecordedProcess
from supervisor.home.config import Config
from supervisor.loop.loop import Loop
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.spawn_limits import Confinement, launch
from supervisor.process.table import become_subreaper
from supervisor.process.teardown import Teardown, stop_all, sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.discovery.discover import Found
    from supervisor.harness.recorded_process import Said
    from supervisor.loop.loop import Clock
    from supervisor.process.child import ExitStatus
    from supervisor.process.stop_policy import Patience
    from supervisor.process.table import Process

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedRehearsalError(Exception):
    """Ctrl-C, or a signal that asks this process to end."""


class Harness:
    """A context manager: on leaving, everything that was started in it is ended and its temporary folders are removed.

    `owns_process` says that this process does nothing else: it then adopts orphans, takes SIGINT, SIGTERM and SIGHUP as
    a wish to end, and at the end ends whatever is below it.
    """

    def __init__(self, *, owns_process: bool = False, config: Config | None = None, clock: Clock | None = None) -> None:
        self.loop = Loop() if clock is None else Loop(clock)
        self.shared_table = SharedProcessTable(self.loop)
        self.is_interrupted = False
        self.actors: list[RecordedProcess] = []
        self._owns_process = owns_process
        self._config = config or Config()
        self._token = os.urandom(16).hex()
        self._orphans = Orphans(self.loop, self._token)
        self._folders: list[Path] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._owns_process:
            self.shared_table.is_subreaper = become_subreaper()
            self._stack.enter_context(self.loop.signals(ENDING, self._on_signal))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end_all()
        finally:
            self._stack.close()
            self.shared_table.close()
            self.loop.close()
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)

    def _on_signal(self, _number: signal.Signals) -> None:
        self.is_interrupted = True

    # --- starting -----------------------------------------------------------------------------------------

    def prepare(self, found: Found, cwd: Path | None = None) -> Places:
        """Folders for one rehearsal: an empty one for state, and one for the project if none is given."""
        folder = Path(tempfile.mkdtemp(prefix="zot-rehearsal-")).resolve()
        self._folders.append(folder)
        data = folder / "data"
        data.mkdir()
        if cwd is None:
            cwd = folder / "project"
            cwd.mkdir()
        return Places(str(cwd.absolute()), str(found.folder), str(data))

    def start(
        self,
        found: Found,
        *,
        on_said: Callable[[Said], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        on_exit: Callable[[ExitStatus], None] | None = None,
    ) -> RecordedProcess:
        """Starts the extension, in its own folder and with the limits of its manifest that the kernel keeps. Raises
        `SpawnError`."""
        env = extension_environment(found, self._config, os.environ)
        env |= {TOKEN: self._token, EXTENSION: found.manifest.name}
        argv = launch(found.argv, Confinement.of(found.manifest.limits), cwd=str(found.folder), env=env)
        actor = RecordedProcess(
            self.loop, found, argv=argv, env=env, on_said=on_said, on_stderr=on_stderr, on_exit=on_exit
        )
        self.actors.append(actor)
        return actor

    # --- waiting and ending -------------------------------------------------------------------------------

    def wait(self, predicate: Callable[[], bool], seconds: float | None) -> bool:
        """False if it does not come about in time; for what a person does there is no deadline (None). Raises
        `InterruptedRehearsalError`."""
        deadline = None if seconds is None else self.loop.clock() + seconds
        done = self.loop.run_until(lambda: self.is_interrupted or predicate(), deadline)
        if self.is_interrupted:
            raise InterruptedRehearsalError
        return done

    def left_by(self, actor: RecordedProcess) -> dict[int, Process]:
        """Its living processes but for the first one."""
        assert actor.child is not None
        table = self.shared_table.table(self.loop.clock())
        if table is None:
            return {}
        roots = self._orphans.of(table, actor.found.manifest.name)
        pid = actor.child.pid
        leader = table.by_pid.get(pid)
        is_other = leader is not None and leader.identity != actor.child.identity
        found = table.tree([*roots, *([] if is_other else [pid])], session=None if is_other else pid)
        found.pop(pid, None)
        return found

    def teardown(self, actor: RecordedProcess, on_over: Callable[[], None]) -> Teardown:
        """Ends it in order, with all that it left, while the loop goes on."""
        return Teardown(
            self.loop,
            [actor],
            on_over=on_over,
            adopted=lambda table, _owner: self._orphans.of(table, actor.found.manifest.name),
            shared_table=self.shared_table,
        )

    def end(self, actor: RecordedProcess, patience: Patience | None = None) -> None:
        """Ends it in order, with all that it left, and waits for that."""
        teardown = Teardown(
            self.loop,
            [actor],
            patience=patience,
            adopted=lambda table, _owner: self._orphans.of(table, actor.found.manifest.name),
            shared_table=self.shared_table,
        )
        self.loop.run_until(lambda: self.is_interrupted or teardown.hurry())
        if not teardown.is_over:
            teardown.cancel()
            return  # interrupted: `end_all` does not ask
        self.actors.remove(actor)

    def end_all(self) -> None:
        """At once: nobody is left to be patient for."""
        if any(actor.is_running or self.left_by(actor) for actor in self.actors):
            stop_all(self.loop, self.actors, at_once=True, shared_table=self.shared_table)
        self.actors.clear()
        if self._owns_process:
            sweep(self.loop)
