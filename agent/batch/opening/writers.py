"""Warns of tasks that would write into one folder at the same time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wire.suggest import some
from wire.text import counted, one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.options import RunRequest
    from wire.batch.task import Task

WRITING = frozenset({"write", "edit", "bash"})
"""Tools that may change files."""
HEAD = 160
"""Maximum length of the warning before its hint, in characters."""


def writers_of_one_folder(tasks: Sequence[Task], flags: RunRequest) -> str:
    """Returns a line about the folder that most of these tasks may change, with the number of other folders that
    several may change; "" if each has a folder of its own. `flags` are those of every run. Follows links."""
    folders: dict[str, str] = {}
    writers: dict[str, list[str]] = {}
    for task in tasks:
        if WRITING.isdisjoint(flags.tools if task.tools is None else task.tools):
            continue
        given = task.cwd or flags.cwd or os.curdir
        real = folders.get(given) or folders.setdefault(given, os.path.realpath(given))
        writers.setdefault(real, []).append(task.id)
    several = {folder: ids for folder, ids in writers.items() if len(ids) > 1}
    if not several:
        return ""
    folder, ids = max(several.items(), key=lambda item: len(item[1]))
    others = f" and {counted(len(several) - 1, 'other folder')} likewise" if len(several) > 1 else ""
    head = f"{len(ids)} tasks may change {valid_text(folder)} at the same time{others} ({some(ids, 3)})"
    return (
        f"{one_line(head, HEAD)}: --workspace copy gives each its own copy, --tools read lets none write, --jobs 1 runs"
        " one after another"
    )
