"""Gives a trial of extensions one loop and temporary folders, and ends every process that the trial started."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from supervisor.cleanup.env_marks import EXTENSION, START, TOKEN
from supervisor.cleanup.host_processes import Orphans
from supervisor.discovery.environment import extension_environment, session_environment
from supervisor.harness.comparison import ScriptPaths
from supervisor.harness.messages import SESSION
from supervisor.harness.recorded_process import RecordedProcess
from supervisor.home.config import Config
from supervisor.home.scratch import scratch_folder
from supervisor.loop.loop import STOP_SIGNALS, Loop
from supervisor.process.child import SpawnError
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.spawn_limits import Confinement, launch
from supervisor.process.table import become_subreaper
from supervisor.process.teardown import Teardown, end_descendants, stop_all

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.recorded_process import RecordedLine
    from supervisor.loop.loop import Clock
    from supervisor.process.child import ExitStatus
    from supervisor.process.stop_policy import Patience
    from supervisor.process.table import Process, ProcessTable

QUIET_S = 0.25
"""Seconds of silence after which no more frames are expected, if no answer is due."""


class HarnessInterruptedError(Exception):
    """Ctrl-C, or another signal, asks this process to end."""


class Harness:
    """A context manager. On exit it ends every process that it started and removes its temporary folders.

    `owns_process` means that this process does nothing else. The harness then adopts orphans, ends on SIGINT, SIGTERM
    and SIGHUP, and on exit ends all descendants of this process.
    """

    def __init__(self, *, owns_process: bool = False, config: Config | None = None, clock: Clock | None = None) -> None:
        self.loop = Loop() if clock is None else Loop(clock)
        self.shared_table = SharedProcessTable(self.loop)
        self.is_interrupted = False
        self.processes: list[RecordedProcess] = []
        self._owns_process = owns_process
        self._config = config or Config()
        self._token = os.urandom(16).hex()
        self._orphans = Orphans(self.loop, self._token)
        self._starts = 0
        self._folders = ExitStack()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._owns_process:
            self.shared_table.is_subreaper = become_subreaper()
            self._stack.enter_context(self.loop.signals(STOP_SIGNALS, self._on_signal))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end_all()
        finally:
            self._stack.close()
            self.shared_table.close()
            self.loop.close()
            self._folders.close()

    def _on_signal(self, _number: signal.Signals) -> None:
        self.is_interrupted = True

    # --- starting -----------------------------------------------------------------------------------------

    def prepare(self, found: FoundExtension, cwd: Path | None = None) -> ScriptPaths:
        """Makes temporary folders: an empty data folder, and an empty project folder unless `cwd` is given."""
        folder = self._folders.enter_context(scratch_folder("harness")).resolve()
        data = folder / "data"
        data.mkdir()
        if cwd is None:
            cwd = folder / "project"
            cwd.mkdir()
        return ScriptPaths(str(cwd.absolute()), str(found.folder), str(data))

    def start(
        self,
        found: FoundExtension,
        paths: ScriptPaths | None = None,
        *,
        greets: bool = True,
        leaves_calls: bool = False,
        launcher: Sequence[str] = (),
        session: str = SESSION,
        on_said: Callable[[RecordedLine], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        on_exit: Callable[[ExitStatus], None] | None = None,
    ) -> RecordedProcess:
        """Starts the extension in its own folder, with those of its limits that the kernel enforces. Answers
        its hello with `paths`, by default of `prepare`; without `greets` a script does. `leaves_calls`: see
        `RecordedProcess`. `launcher` is a command that becomes the extension's, `session` the id of its session.
        Raises `SpawnError`."""
        env = extension_environment(found, self._config, os.environ)
        self._starts += 1
        marks = {TOKEN: self._token, EXTENSION: found.manifest.name, START: str(self._starts)}
        env |= {**session_environment(found, session), **marks}
        limits = self._config.limit_rules.of(found.manifest.name, found.manifest.limits)
        argv = launch([*launcher, *found.argv], Confinement.of(limits), cwd=found.working_folder, env=env)
        paths = paths or self.prepare(found)
        process = RecordedProcess(
            self.loop, found, paths, greets=greets, leaves_calls=leaves_calls, session=session, on_said=on_said,
            on_stderr=on_stderr, on_exit=on_exit,
        )  # fmt: skip
        process.start_mark = marks[START]
        if not process.start(lambda: argv, env, found.working_folder, process.hello_s):
            raise SpawnError(process.failure)
        self.processes.append(process)
        return process

    # --- waiting and ending -------------------------------------------------------------------------------

    def wait(self, predicate: Callable[[], bool], seconds: float | None) -> bool:
        """Runs the loop until `predicate` holds. Returns False if that takes longer than `seconds`. None means no
        deadline, for input that a person types. Raises `HarnessInterruptedError`."""
        deadline = None if seconds is None else self.loop.clock() + seconds
        done = self.loop.run_until(lambda: self.is_interrupted or predicate(), deadline)
        if self.is_interrupted:
            raise HarnessInterruptedError
        return done

    def until_quiet(self, process: RecordedProcess, seconds: float) -> None:
        """Waits until the extension has been silent for `QUIET_S`, or has ended; `seconds` at most."""
        clock = self.loop.clock
        began = clock()
        while process.is_running and clock() - began < seconds:
            left = max(began, process.last_heard_at) + QUIET_S - clock()
            if left <= 0:
                break
            self.wait(lambda: not process.is_running, left)

    def left_by(self, process: RecordedProcess) -> dict[int, Process]:
        """Returns the living processes that an extension started, by pid, without the first process itself."""
        assert process.child is not None
        table = self.shared_table.table(self.loop.clock())
        if table is None:
            return {}
        roots = self._adopted(table, process)
        pid = process.child.pid
        leader = table.by_pid.get(pid)
        is_other = leader is not None and leader.identity != process.child.identity
        found = table.tree([*roots, *([] if is_other else [pid])], session=None if is_other else pid)
        found.pop(pid, None)
        return found

    def _adopted(self, table: ProcessTable, process: RecordedProcess) -> list[int]:
        """The orphans of this start alone: processes of one extension may run at the same time."""
        return self._orphans.of(table, process.found.manifest.name, process.start_mark)

    def teardown(
        self, process: RecordedProcess, on_over: Callable[[], None] | None = None, patience: Patience | None = None
    ) -> Teardown:
        """Starts to end the process in order, with all processes that it left. Calls `on_over` at the end."""
        return Teardown(
            self.loop,
            [process],
            patience=patience or process.patience,
            on_over=on_over,
            adopted=lambda table, _owner: self._adopted(table, process),
            shared_table=self.shared_table,
        )

    def end(self, process: RecordedProcess, patience: Patience | None = None) -> None:
        """Ends the process in order, with all processes that it left. Waits until they are gone."""
        teardown = self.teardown(process, patience=patience)
        self.loop.run_until(lambda: self.is_interrupted or teardown.hurry())
        if not teardown.is_over:
            teardown.cancel()
            return  # interrupted: `end_all` kills the process
        self.processes.remove(process)

    def end_all(self) -> None:
        """Kills all processes that still run, at once and without a shutdown frame."""
        if any(process.is_running or self.left_by(process) for process in self.processes):
            stop_all(self.loop, self.processes, at_once=True, shared_table=self.shared_table)
        self.processes.clear()
        if self._owns_process:
            end_descendants(self.loop, shared_table=self.shared_table)
