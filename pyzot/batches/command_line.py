"""The input of `zot batch`: the options of `Batch` as flags, and the tasks as lines of a tasks file. Does no I/O."""

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
        """The folder where relative paths start. Default: the working directory of this process."""
        api_key: str
        """The key. The batch gets it in its environment: `ps` does not show it."""


UNWRITTEN = {"api_key": TEXT, "cwd": PLACE}
"""Options that are not flags: the key is in the environment, and the process starts in the folder."""
SIZE_LIMIT = 256 * 1024 * 1024
"""Maximum size of all lines together in bytes."""


def command(
    options: Mapping[str, Any], folder: Place, program: Sequence[str], *, with_events: bool, is_quiet: bool
) -> list[str]:
    """Returns the command of a batch whose tasks come on stdin: `program` with `batch` and the flags. Options that are
    None are left out. Raises `TypeError` for an unknown option, and for a value of another type; `ValueError` for a key
    that would have to travel."""
    given = dict(options)
    if given.get("api_key") is not None and given.get("engine") == "ray":
        raise ValueError(
            "api_key: with engine='ray' a key does not travel: set its variable, such as ANTHROPIC_API_KEY, where the"
            " nodes run, or give api_key_file, a path that each node has"
        )
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
    """Returns all lines, and the ids of the tasks: a task without an id has the number of its line, from 1. Raises
    `TypeError` for an object that is not a task, and `ValueError` for more than `SIZE_LIMIT`. `zot batch` checks the
    fields."""
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
    """Returns the fields of a task. Raises `TypeError`."""
    if isinstance(task, str):
        return {"prompt": task}
    if not hasattr(task, "keys"):
        raise TypeError(f"task {number} is a prompt or a mapping, not {task!r:.200}")
    return {name: task[name] for name in task.keys()}  # noqa: SIM118  (a mapping of any kind)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(value))
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)  # the same text each time: a changed task is reported
    if hasattr(value, "keys"):
        return {name: value[name] for name in value.keys()}  # noqa: SIM118
    raise TypeError(f"{value!r:.200} is no JSON")
