"""Carries out the `score` command of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.scoring.last_line import LastLine
from agent.batch.scoring.score_reader import score_of
from agent.batch.workspace.commands import TIMEOUT_S, TaskCommand
from agent.confinement import shell_argv
from supervisor.discovery.environment import child_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.confinement import Confinement
    from supervisor.loop.loop import Loop
    from wire.batch.outcome import Score


def run_score(
    loop: Loop,
    command: str,
    *,
    cwd: str,
    status: str,
    text: str,
    diff: str = "",
    timeout_s: float = TIMEOUT_S,
    is_stopped: Callable[[], bool] = lambda: False,
    confinement: Confinement | None = None,
) -> Score:
    """Carries out the command as `run_command` does, and returns the score. Its standard input is the final `text` of
    the run; ZOT_STATUS is the task's status, and ZOT_DIFF the path of the run's changes, if there are some."""
    last = LastLine()
    env = {**child_environment(), "ZOT_STATUS": status, "ZOT_DIFF": diff}
    argv, folder = shell_argv(command, cwd, confinement)
    begun = TaskCommand(loop, argv, folder, env, stdin=text.encode("utf-8", "replace"), on_stdout=last.feed)
    end = begun.run(timeout_s, is_stopped)
    return score_of(end, last.line(), begun.cut_short)
