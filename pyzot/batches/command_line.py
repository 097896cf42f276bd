"""What `zot batch` is given: the options of `Batch` as flags, and the tasks as the lines of a tasks file. Does no
I/O."""

from __future__ import annotations

import json
import os

from ..connection.command_line import PARAMETERS, no_such_option, option_flags, value_text
from ..flags import BATCH, PLACE, TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ..flags import BatchFlags, Place

    class BatchOptions(BatchFlags, total=False):
        """The options of a batch: the flags of `zot batch`, by their names, and two more."""

        cwd: Place
        """Where relative paths start. Default: the working directory of this process."""
        api_key: str
        """Goes to the batch in its environment: `ps` does not show it."""


UNWRITTEN = {"api_key": TEXT, "cwd": PLACE}
"""Options that are no flags: the key is in the environment, and the process starts in the folder."""
SIZE_LIMIT = 256 * 1024 * 1024
"""Bytes of all lines together."""


def command(
    options: Mapping[str, Any], folder: Place, program: Sequence[str], *, with_events: bool, is_quiet: bool
) -> list[str]:
    """The command of a batch whose tasks come on stdin: `program` with `batch` and the flags. An option that is None is
    not given. Raises `TypeError` for an option that does not exist, and for a value of another type."""
    given = dict(options)
    for name, kind in UNWRITTEN.items():
        if (value := given.pop(name, None)) is not None:
            value_text(name, kind, value)
    found = [*program, "batch", "-", "--json", f"--output={value_text('folder', PLACE, folder)}"]
    if not with_events:
        found.append("--no-events")
    if is_quiet:
        found.append("--quiet")
    for name, value in given.items():
        if name not in BATCH:
            raise no_such_option(name, {*BATCH, *UNWRITTEN, *PARAMETERS})
        if value is not None:
            found += option_flags(name, BATCH[name], value)
    return found


def lines_of(tasks: Iterable[str | Mapping[str, Any]]) -> tuple[bytes, frozenset[str]]:
    """All lines, and the ids of the tasks: one without an id has the number of its line, from 1. Raises `TypeError`
    for what is no task, and `ValueError` for more than `SIZE_LIMIT`. What the fields may be is `zot batch`'s to say."""
    if isinstance(tasks, (str, bytes)) or hasattr(tasks, "keys"):
        raise TypeError(f"tasks are a list, not one {type(tasks).__name__}: put it into []")
    lines: list[bytes] = []
    ids: set[str] = set()
    size = 0
    for number, task in enumerate(tasks, 1):
        fields = _fields(number, task)
        try:
            line = json.dumps(fields, default=_plain, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"task {number}: {error}") from None
        if (size := size + len(line)) > SIZE_LIMIT:
            raise ValueError(f"the tasks have more than {SIZE_LIMIT >> 20} MiB: put long texts into files")
        lines.append(line)
        ids.add(str(fields.get("id") or number))
    return b"".join(lines), frozenset(ids)


def _fields(number: int, task: str | Mapping[str, Any]) -> dict[str, Any]:
    """Raises `TypeError`."""
    if isinstance(task, str):
        return {"prompt": task}
    if not hasattr(task, "keys"):
        raise TypeError(f"task {number} is a prompt or a mapping, not {task!r:.200}")
    return {name: task[name] for name in task.keys()}  # noqa: SIM118  (a mapping of any kind)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(value))
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)  # the same text each time: a changed task is told of
    if hasattr(value, "keys"):
        return {name: value[name] for name in value.keys()}  # noqa: SIM118
    raise TypeError(f"{value!r:.200} is no JSON")
