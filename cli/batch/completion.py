"""Completion of `zot batch` in a shell. Nothing here raises or prints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer  # noqa: TC002  (it reads the annotations)

if TYPE_CHECKING:
    from collections.abc import Iterator

TASKS_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv")
JOURNAL = "journal.jsonl"


def task_files(ctx: typer.Context, incomplete: str) -> list[str]:
    """The commands of the group, files that look like tasks, and folders on the way to them."""
    group = ctx.command
    commands = group.list_commands(ctx) if hasattr(group, "list_commands") else []
    words = [name for name in commands if name.startswith(incomplete)]
    for path, entry in _entries(incomplete):
        if entry.is_dir():
            words.append(f"{path}/")
        elif path.endswith(TASKS_ENDINGS):
            words.append(path)
    return sorted(words)


def folders(_ctx: typer.Context, incomplete: str) -> list[str]:
    """The folders of batches, and folders on the way to them."""
    return sorted(
        path if os.path.exists(os.path.join(path, JOURNAL)) else f"{path}/"
        for path, entry in _entries(incomplete)
        if entry.is_dir()
    )


def ctl_values(ctx: typer.Context, incomplete: str) -> list[str]:
    """The ids of tasks, after the actions that take one."""
    return task_ids(ctx, incomplete) if ctx.params.get("action") in ("requeue", "show") else []


def statuses(_ctx: typer.Context, incomplete: str) -> list[str]:
    """The statuses of tasks."""
    from wire.batch.outcome import TaskStatus

    words = (*(status.value for status in TaskStatus), "not_run")
    return [word for word in words if word.startswith(incomplete)]


def task_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """The ids of the tasks of the batch whose folder is given."""
    from pathlib import Path

    from agent.batch.journal.errors import FolderError
    from agent.batch.journal.folder import RunFolder

    try:
        found = [task.id for task in RunFolder(Path(ctx.params.get("folder") or "")).read_tasks()]
    except FolderError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def _entries(incomplete: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The path as typed, of each entry that the word may become; hidden ones only if it begins with a dot."""
    parent, name = os.path.split(incomplete)
    try:
        with os.scandir(parent or os.curdir) as entries:
            for entry in entries:
                if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith(".")):
                    yield os.path.join(parent, entry.name), entry
    except OSError:
        return
