"""The state of a list of a server: when it is requested, page by page, and when it is complete. Pure policy.

Only one list of a kind is requested at a time. Servers report changes up to four times at start, and some after each
list for ever: a new list is requested 300 ms after the first report, and from then on at most once in 5 s.
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
"""Maximum number of tools, and of prompts, of one server."""
ELEMENTS = 2_000
"""Maximum number of elements of one list, unwanted and unusable ones included."""
LIST_BYTES = 8 * 1024 * 1024
"""Maximum size of all pages of one list in bytes."""
CURSOR_LIMIT = 64 * 1024
"""Maximum length of a cursor in characters."""


class ListStage(Enum):
    """The stage of a list of a server."""

    UNASKED = "unasked"
    """It was never requested."""
    ASKED = "asked"
    """The host waits for a page."""
    KNOWN = "known"
    """It was read, or the server failed to send it."""
    CHANGED = "changed"
    """It was read, and the server has reported a change since."""


class NextPage(msgspec.Struct, frozen=True):
    """The next step after a page."""

    cursor: str | None
    """The cursor of the next page; None if this is the last page that is read."""
    cut: str = ""
    """Why the rest of the list is not read; "" if it is complete."""


class ListState:
    """The list of one kind, requested again after changes. Times are seconds of one clock."""

    __slots__ = ("_began_anew", "_changed_at", "_cursors", "_due", "_size", "elements", "pages", "stage")

    def __init__(self) -> None:
        self.stage = ListStage.UNASKED
        self.elements: list[Any] = []
        """The elements of the pages so far."""
        self.pages = 0
        self._cursors: set[str] = set()
        self._size = 0
        self._due: float | None = None
        self._changed_at: float | None = None  # of the first change that no list has covered
        self._began_anew: float | None = None  # time of the last request because of a change

    @property
    def due_at(self) -> float | None:
        """The time to request the list again, or at which the expected page is late; None if neither."""
        return self._due

    def begin(self, now: float) -> None:
        """The first page is requested."""
        if self.stage is not ListStage.UNASKED:
            self._began_anew = now
        self.stage = ListStage.ASKED
        self.elements, self.pages, self._size = [], 0, 0
        self._cursors.clear()
        self._changed_at = None
        self._due = now + ANSWER_S

    def changed(self, now: float) -> None:
        """The server reports a change. The first list covers an earlier change."""
        if self.stage is ListStage.UNASKED:
            return
        if self._changed_at is None:
            self._changed_at = now
        if self.stage is ListStage.KNOWN:
            self._await_change()

    def take(self, elements: list[Any], cursor: Any, size: int, offers: int, now: float) -> NextPage:
        """Takes a page of `size` bytes. `offers` is the number of usable elements of the list so far."""
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
        """The list is complete, or given up. Returns its elements."""
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
