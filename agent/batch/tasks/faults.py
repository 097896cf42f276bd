"""Collects what is wrong with a tasks file, so that its author sees all of it at once."""

from __future__ import annotations

from wire.text import counted, one_line

SHOWN = 20
"""Faults that are named; of further ones only the number is said."""
LENGTH = 1000
"""Characters of a fault. It quotes what others have written: names of columns, of files, and schemas."""


class TasksError(ValueError):
    """The tasks cannot be run. The text has a line for each fault, which begins with the file and the line number."""

    def __init__(self, faults: list[str], count: int | None = None) -> None:
        self.faults = tuple(faults)
        """The first of them."""
        self.count = len(faults) if count is None else count
        """All of them."""
        left = self.count - len(faults)
        super().__init__("\n".join([*faults, *([f"and {counted(left, 'more fault')}"] if left else [])]))


class Faults:
    """Grows while tasks are read or checked."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self.count = 0

    def add(self, place: str, what: str) -> None:
        """`place` is a file with a line number, or a file."""
        self.count += 1
        if self.count <= SHOWN:
            self._first.append(one_line(f"{place}: {what}", LENGTH))

    def error(self) -> TasksError | None:
        """None if there is no fault."""
        return TasksError(self._first, self.count) if self.count else None

    def raise_any(self) -> None:
        """Raises `TasksError` if there are faults."""
        if (error := self.error()) is not None:
            raise error
