"""Scores the run of a task that is done again: carries out its `score` command, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.batch.run.begin import decode_request, set_environment
from agent.batch.run.task_run import EarlyError, End, TaskRun
from agent.request_checks import UsageError
from supervisor.cleanup.env_marks import TOKEN
from wire.batch.outcome import TaskStatus
from wire.batch.task import TaskError, decode_task
from wire.exit_codes import Status

if TYPE_CHECKING:
    from wire.batch.link import ScoreAgain
    from wire.batch.task import Task


class ScoreRun(TaskRun):
    """Its end is `ok` with a score, or it says why there is none."""

    def _carry_out(self) -> tuple[End, int]:
        again = self._begin.again
        assert again is not None
        try:
            task = decode_task(bytes(self._begin.task))
            request = decode_request(self._begin.request)
            os.environ[TOKEN] = self._begin.token
            set_environment(os.environ, task)
        except (TaskError, UsageError, msgspec.DecodeError) as error:
            raise EarlyError(TaskStatus.USAGE, str(error)) from None
        assert task.score is not None
        cwd = self._folder_of(task, request.cwd, again)
        if self._begin.prefix:
            self._confine(cwd)
        self._diff = again.diff
        end = self._run_score(task.score, cwd, End(again.status), again.text)
        return (end if end.status is TaskStatus.INTERRUPTED else End(TaskStatus.OK)), Status.OK.exit_code

    def _folder_of(self, task: Task, flag: str | None, again: ScoreAgain) -> str:
        """The workspace of the task as its run has left it; that in a worktree is made anew, with the task's `setup`.
        Raises `EarlyError`."""
        original = task.cwd or flag or os.getcwd()
        if not self._begin.workspace:
            return original
        from agent.batch.workspace.copy import WorkspaceError, workspace_environment

        workspace = Path(self._begin.workspace)
        batch = workspace.parent.parent
        os.environ.update(workspace_environment(batch))
        if (base := self._begin.base) is not None:
            from agent.batch.workspace.worktree import remake_worktree

            diff = Path(batch, again.diff) if again.diff else None
            try:
                self._workspace = remake_worktree(original, base, batch, workspace.name, diff)
            except WorkspaceError as error:
                raise EarlyError(TaskStatus.SETUP_FAILED, str(error)) from None
            folder = str(self._workspace.cwd or self._workspace.path)
            if task.setup is not None:
                self._run_setup(task.setup, folder)
            return folder
        if not workspace.is_dir():
            raise EarlyError(TaskStatus.SETUP_FAILED, f"its copy of the project is gone: {workspace}")
        return str(workspace)
