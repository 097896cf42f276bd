"""Which tasks that are done are run again. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.batch.outcome import TaskStatus
from wire.suggest import no_such

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FAILED, CHANGED, ALL = "failed", "changed", "all"


class RedoError(ValueError):
    """`--redo` names a task that is not in the batch."""


def to_redo(
    words: Iterable[str], done: Mapping[str, TaskStatus], changed: Iterable[str], tasks: Iterable[str]
) -> set[str]:
    """The ids of the done tasks that the words name. `done` has the status of each done task, `changed` the done tasks
    whose inputs have changed, `tasks` all ids. A task is named by its id even if that is `failed`, `changed` or `all`.
    Raises `RedoError`."""
    known, chosen = set(tasks), set[str]()
    for word in words:
        if word in known:
            chosen |= {word} & done.keys()
        elif word == FAILED:
            chosen |= {task for task, status in done.items() if status is not TaskStatus.OK}
        elif word == CHANGED:
            chosen |= set(changed)
        elif word == ALL:
            chosen |= done.keys()
        else:
            raise RedoError(f"--redo: {no_such('task', word, sorted(known))}")
    return chosen
