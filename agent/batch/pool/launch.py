"""Starts the process of a run, as a fork of the template or as a program where the system has no templates; kills it
with all that it has started."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from supervisor.process.child import Child, ExitStatus, SpawnError
from supervisor.process.table import ProcessTable, send_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.loop.loop import Loop
    from supervisor.loop.pipes import PipeReader
    from supervisor.process.table import Identity
    from supervisor.template.client import Template

ENTRY = "run"
"""The template's function that is a run."""
PROGRAM = Path(__file__).resolve().parent.parent / "run" / "run_main.py"


class RunChild(Protocol):
    """The process of a run. Its pid is also the number of its session and process group."""

    pid: int
    exit: ExitStatus | None
    stdout: PipeReader

    @property
    def identity(self) -> Identity: ...
    @property
    def is_running(self) -> bool: ...
    def kill_group(self, number: signal.Signals) -> None: ...


class Launch(Protocol):
    """Starts a process whose standard output goes to `on_stdout`, standard error to the descriptor `stderr`, and whose
    link is the descriptor `link`. Both stay the caller's, who may close them at once. Then `on_exit` is called once
    from the loop, or `on_failed`. Raises `SpawnError`."""

    def __call__(
        self,
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
    ) -> RunChild: ...


def by_fork(template: Template, cwd: str) -> Launch:
    """Forks the template: the process has the environment of the template, and works in `cwd` at first."""

    def launch(
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
    ) -> RunChild:
        return template.fork(
            ENTRY, cwd=cwd, env=None, links=[link], stderr=stderr,
            on_stdout=on_stdout, on_exit=on_exit, on_failed=on_failed,
        )  # fmt: skip

    return launch


def by_program(loop: Loop, env: Mapping[str, str], cwd: str, program: Path = PROGRAM) -> Launch:
    """Starts `program` with the number of the link as its argument."""

    def launch(
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],  # noqa: ARG001  (a program that cannot be started raises)
    ) -> RunChild:
        return Child(
            loop, [sys.executable, "-P", str(program), str(link)], cwd=cwd, env=env, stdin=False,
            on_stdout=on_stdout, on_exit=on_exit, pass_fds=[link], stderr=stderr,
        )  # fmt: skip

    return launch


def kill_tree(child: RunChild) -> set[Identity]:
    """SIGKILL to the process, its group and all its descendants. Returns those that were found."""
    tree = ProcessTable.read().tree([child.pid], session=child.pid)
    child.kill_group(signal.SIGKILL)
    for pid, process in tree.items():
        if pid != child.pid:
            send_signal(process.identity, signal.SIGKILL)
    return {process.identity for process in tree.values()}
