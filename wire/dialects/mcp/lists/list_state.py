"""When a list of a server is asked for, page by page, and when it is whole. Pure policy.

Only one list of a kind is asked for at a time. Servers report changes up to four times at start, and some after each
list for ever: a new list is asked for 300 ms after the first report, and from then on at most once in 5 s.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

DEBOUNCE_S = 0.3
"""Seconds from the first report of a change to the new list."""
INTERVAL_S = 5.0
"""Seconds from the start of one new list to the start of the next."""
ANSWER_S = 30.0
"""Seconds for each page."""
PAGES = 100
OFFERS = 500
"""Tools, or prompts, of one server."""
ELEMENTS = 2_000
"""Elements of one list, those included that are not wanted or not usable."""
LIST_BYTES = 8 * 1024 * 1024
"""Bytes of all pages of one list."""
CURSOR_LIMIT = 64 * 1024
"""Characters of a cursor."""


class ListStage(Enum):
    """Where a list of a server is."""

    UNASKED = "unasked"
    """It has never been asked for."""
    ASKED = "asked"
    """A page is waited for."""
    KNOWN = "known"
    """It has been read, or the server did not give it."""
    CHANGED = "changed"
    """It has been read, and the server has reported a change since."""


class NextPage(msgspec.Struct, frozen=True):
    """What follows from a page."""

    cursor: str | None
    """Where the next page begins; None if this is the last one that is read."""
    cut: str = ""
    """Why the list is not read to its end; "" if it is."""


class ListState:
    """The list of one kind, asked for again and again. Times are seconds of one clock."""

    __slots__ = ("_began_anew", "_changed_at", "_cursors", "_due", "_size", "elements", "pages", "stage")

    def __init__(self) -> None:
        self.stage = ListStage.UNASKED
        self.elements: list[Any] = []
        """What the pages had so far."""
        self.pages = 0
        self._cursors: set[str] = set()
        self._size = 0
        self._due: float | None = None
        self._changed_at: float | None = None  # of the first change that no list has covered
        self._began_anew: float | None = None  # when a list was last asked for because of a change

    @property
    def due_at(self) -> float | None:
        """When the list is to be asked for again, or the page that is waited for is late; None if neither."""
        return self._due

    def begin(self, now: float) -> None:
        """The first page is being asked for."""
        if self.stage is not ListStage.UNASKED:
            self._began_anew = now
        self.stage = ListStage.ASKED
        self.elements, self.pages, self._size = [], 0, 0
        self._cursors.clear()
        self._changed_at = None
        self._due = now + ANSWER_S

    def changed(self, now: float) -> None:
        """The server reports a change. One that comes before the first list is covered by it."""
        if self.stage is ListStage.UNASKED:
            return
        if self._changed_at is None:
            self._changed_at = now
        if self.stage is ListStage.KNOWN:
            self._await_change()

    def take(self, elements: list[Any], cursor: Any, size: int, offers: int, now: float) -> NextPage:
        """Takes a page of so many bytes. `offers` are the usable elements of the list so far."""
        self.pages += 1
        self._size += size
        self.elements += elements[: ELEMENTS - len(self.elements)]
        self._due = now + ANSWER_S
        if cursor is None:
            return NextPage(None)
        if not isinstance(cursor, str) or len(cursor) > CURSOR_LIMIT:
            return NextPage(None, "its cursor is no string, or too long a one")
        if cursor in self._cursors:
            return NextPage(None, "its cursor comes again and again")
        if self.pages >= PAGES:
            return NextPage(None, f"it has more than {PAGES} pages")
        if offers >= OFFERS or len(self.elements) >= ELEMENTS or self._size >= LIST_BYTES:
            return NextPage(None, "it is too long")
        self._cursors.add(cursor)
        return NextPage(cursor)

    def end(self) -> list[Any]:
        """The list is whole, or given up. Returns its elements."""
        elements, self.elements = self.elements, []
        self._cursors.clear()
        self.stage = ListStage.KNOWN
        self._due = None
        if self._changed_at is not None:
            self._await_change()
        return elements

    def _await_change(self) -> None:
        assert self._changed_at is not None
        self.stage = ListStage.CHANGED
        self._due = self._changed_at + DEBOUNCE_S
        if self._began_anew is not None:
            self._due = max(self._due, self._began_anew + INTERVAL_S)
