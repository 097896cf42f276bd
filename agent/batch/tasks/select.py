"""Chooses among the tasks of a batch. Pure: the same tasks and the same flags give the same choice on every machine.

The order is filter, slice, shuffle, limit, shard. The shard is last, so that the shards 1 to n of n machines together
are exactly what one machine without `--shard` would do, whatever the other flags are.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from agent.batch.tasks.filter import Filter, SelectionError, kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.batch.task import Task

_SLICE = re.compile(r"\s*(-?\d{1,12})?\s*:\s*(-?\d{1,12})?\s*", re.ASCII)
_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What of the tasks is run. The defaults keep all tasks in their order."""

    slice: tuple[int | None, int | None] | None = None
    """Start and end as in a Python slice, among the tasks that pass the filters."""
    filters: tuple[Filter, ...] = ()
    """A task has to pass all of them."""
    shuffle_seed: int | None = None
    limit: int | None = None
    """The most tasks, those of all shards together."""
    shard: tuple[int, int] | None = None
    """`(i, n)`, 1 ≤ i ≤ n: of the tasks that are left, each n-th from the i-th on."""

    def apply(self, tasks: Sequence[Task]) -> list[Task]:
        """The chosen tasks. Raises `SelectionError` for a filter on a field of `meta` that no task has."""
        chosen = kept(tasks, self.filters)
        if self.slice is not None:
            chosen = chosen[slice(*self.slice)]
        if self.shuffle_seed is not None:
            chosen = shuffled(chosen, self.shuffle_seed)
        chosen = chosen[: self.limit]
        if self.shard is not None:
            first, count = self.shard
            chosen = chosen[first - 1 :: count]
        return chosen


def shuffled(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Sorted by a hash of the seed and the id: Python's own shuffle may differ between its versions. What a task comes
    before does not depend on the other tasks, nor on the order of the file."""
    key = seed.to_bytes(8, "big")

    def place(task: Task) -> bytes:
        return hashlib.blake2b(task.id.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()

    return sorted(tasks, key=place)


# --- the texts of flags -------------------------------------------------------------------------------------


def slice_from(text: str) -> tuple[int | None, int | None]:
    """`10:20`, `:100`, `-5:`. Raises `SelectionError`."""
    if (found := _SLICE.fullmatch(text)) is None:
        raise SelectionError(f"--slice {text!r}: write a:b, as in Python: 0:10, 10:, -5:")
    start, end = (None if each is None else int(each) for each in found.groups())
    return start, end


def shard_from(text: str) -> tuple[int, int]:
    """`2/4`. Raises `SelectionError`."""
    found = _SHARD.fullmatch(text.strip())
    shard = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= shard[0] <= shard[1]:
        raise SelectionError(f"--shard {text!r}: write i/n with i from 1 to n: 1/4, 2/4, 3/4, 4/4")
    return shard
