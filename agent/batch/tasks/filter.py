"""Filters tasks by a field: `field=value` or `field~regex`. Pure. Nothing of a filter or of a task is evaluated."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import msgspec

from wire.batch.task import Task
from wire.suggest import did_you_mean

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
        text = as_text(self.found(task))
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


def kept(tasks: Sequence[Task], filters: Iterable[Filter]) -> list[Task]:
    """The tasks that pass all filters. Raises `SelectionError` for a field of `meta` that no task has."""
    filters = tuple(filters)
    for each in filters:
        if each.field.startswith(META) and tasks and all(each.found(task) is _ABSENT for task in tasks):
            keys = sorted({META + key for task in tasks for key in task.meta})
            hint = did_you_mean(each.field, keys) or f"there are {', '.join(keys[:20]) or 'none'}"
            raise SelectionError(f"--filter {each.field}: no task has it; {hint}")
    return [task for task in tasks if all(each.passes(task) for each in filters)]


def as_text(value: Any) -> str:
    """What a filter compares: a text as it is, nothing for a field that is left out, `30` for 30.0, else JSON."""
    if isinstance(value, str):
        return value
    if value is None or value is _ABSENT:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return msgspec.json.encode(value, order="sorted").decode()
