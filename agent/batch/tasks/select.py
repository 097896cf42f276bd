"""Chooses among the tasks of a batch. Pure: the same tasks and the same flags give the same choice on every machine.

The order is filter, slice, shuffle, limit, repeat, shard. The shard is last, so that the shards 1 to n of n machines
together are exactly what one machine without `--shard` would do, whatever the other flags are.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.tasks.repeat import repeated
from wire.batch.task import ID_LENGTH, Task
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FIELDS = Task.__struct_fields__
META = "meta."
MATCHED = 64 * 1024
"""Characters of a text that a regex is matched against. Some patterns take a time that grows with its square."""
_FILTER = re.compile(r"(meta\.[^=~]+|[A-Za-z_]+)([=~])(.*)", re.DOTALL)
_ABSENT = object()


class SelectionError(ValueError):
    """A flag cannot be used; the text names it and says what can."""


class Filter(msgspec.Struct, frozen=True):
    field: str
    """A field of a task, or `meta.KEY`."""
    value: str = ""
    pattern: re.Pattern[str] | None = None
    """If given, it counts in place of the value, and has to match somewhere in the text."""

    def passes(self, task: Task) -> bool:
        text = filter_text(self.found(task))
        return text == self.value if self.pattern is None else self.pattern.search(text[:MATCHED]) is not None

    def found(self, task: Task) -> Any:
        """The value that the task has there."""
        if not self.field.startswith(META):
            return getattr(task, self.field)
        key = self.field.removeprefix(META)
        found: Any = task.meta
        if key in task.meta:
            return task.meta[key]
        for step in key.split("."):
            found = found.get(step, _ABSENT) if isinstance(found, dict) else _ABSENT
        return found


def filter_from(text: str) -> Filter:
    """Reads `field=value` or `field~regex`. Raises `SelectionError`."""
    found = _FILTER.fullmatch(text)
    if found is None:
        raise SelectionError(f"--filter {text!r}: write field=value or field~regex: model=claude-opus-5, id~^a")
    field, operator, rest = found[1].strip(), found[2], found[3]
    if not field.startswith(META) and field not in FIELDS:
        hint = did_you_mean(field, FIELDS) or f"fields of a task are {', '.join(FIELDS)}, and of its meta meta.NAME"
        raise SelectionError(f"--filter {text!r}: no such field: {field!r}; {hint}")
    if operator == "=":
        return Filter(field, rest)
    try:
        with warnings.catch_warnings(action="ignore"):  # about what a later Python may read in another way
            return Filter(field, rest, re.compile(rest))
    except (re.error, RecursionError, OverflowError) as error:
        raise SelectionError(f"--filter {text!r}: not a regular expression: {error}") from None


def filter_tasks(tasks: Sequence[Task], filters: Iterable[Filter]) -> list[Task]:
    """The tasks that pass all filters. Raises `SelectionError` for a field of `meta` that no task has."""
    filters = tuple(filters)
    if not filters:
        return list(tasks)
    for each in filters:
        if each.field.startswith(META) and tasks and all(each.found(task) is _ABSENT for task in tasks):
            keys = sorted({META + key for task in tasks for key in task.meta})
            hint = did_you_mean(each.field, keys) or f"there are {', '.join(keys[:20]) or 'none'}"
            raise SelectionError(f"--filter {each.field}: no task has it; {hint}")
    return [task for task in tasks if all(each.passes(task) for each in filters)]


def filter_text(value: Any) -> str:
    """The text that a filter compares: a text as it is, "" for a missing field, `30` for 30.0, else JSON."""
    if isinstance(value, str):
        return value
    if value is None or value is _ABSENT:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return msgspec.json.encode(value, order="sorted").decode()


_SLICE = re.compile(r"\s*(-?\d{1,12})?\s*:\s*(-?\d{1,12})?\s*", re.ASCII)
_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The choice among the tasks. The defaults keep all tasks in their order."""

    slice: tuple[int | None, int | None] | None = None
    """Start and end as in a Python slice, among the tasks that pass the filters."""
    filters: tuple[Filter, ...] = ()
    """A task has to pass all of them."""
    shuffle_seed: int | None = None
    limit: int | None = None
    """The most tasks, those of all shards together."""
    repeat: int | None = None
    """How often each of these tasks is run. None: once, with its own id."""
    shard: tuple[int, int] | None = None
    """`(i, n)`, 1 ≤ i ≤ n: of the tasks that are left, each n-th from the i-th on."""

    def apply(self, tasks: Sequence[Task]) -> list[Task]:
        """The chosen tasks. Raises `SelectionError` for a filter on a field of `meta` that no task has, and for a task
        that cannot be repeated."""
        chosen = filter_tasks(tasks, self.filters)
        if self.slice is not None:
            chosen = chosen[slice(*self.slice)]
        if self.shuffle_seed is not None:
            chosen = shuffle(chosen, self.shuffle_seed)
        chosen = chosen[: self.limit]
        if self.repeat is not None:
            _check_repeatable(chosen, self.repeat)
            chosen = repeated(chosen, self.repeat)
        if self.shard is not None:
            first, count = self.shard
            chosen = chosen[first - 1 :: count]
        return chosen


def _check_repeatable(tasks: Sequence[Task], times: int) -> None:
    for task in tasks:
        if task.repeat is not None:
            raise SelectionError(f"--repeat: task {task.id!r} is a repetition already; leave --repeat out")
        if len(task.id) + len(f"#{times}") > ID_LENGTH:
            raise SelectionError(
                f"--repeat: the id {task.id!r} is too long: with #{times}, over {ID_LENGTH} characters"
            )


def shuffle(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Sorted by a hash of the seed and the id: Python's own shuffle may differ between its versions. Whether a
    task comes before another one depends on no third task, and not on the order of the file."""
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
