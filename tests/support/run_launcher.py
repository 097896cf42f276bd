"""Starts the program of a run, as a batch does where the system has no template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.pool.processes import PROGRAM
from agent.batch.pool.warm_template import start_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agent.batch.pool.processes import Launch, RunChild
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus, SpawnError


def program_launcher(loop: Loop, env: Mapping[str, str], cwd: str, program: Path = PROGRAM) -> Launch:
    """Starts `program` with the number of the link as its argument."""

    def launch(
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
    ) -> RunChild:
        return start_program(
            loop, program, [link], env=env, cwd=cwd, stderr=stderr, on_stdout=on_stdout, on_exit=on_exit
        )

    return launch
