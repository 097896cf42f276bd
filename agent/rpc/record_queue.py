"""Lines that wait for a client, in order. Pure. While many wait, pieces of the same text are joined into one record.

A model writes a long answer as thousands of records of a few characters. A client that pauses gets them as few records;
their joined texts are the same.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from wire import events

if TYPE_CHECKING:
    from collections.abc import Callable

JOIN_ABOVE = 256 * 1024
"""Waiting bytes above which a record is joined to the one before it, if both are pieces of the same text."""
JOINED_LIMIT = 16 * 1024
"""Maximum of a joined text as JSON, in bytes: many clients read lines into a buffer of 64 KiB."""
AFTER_A_GAP = "... ["
"""The beginning of tool progress after a gap. Such a record is not joined to the one before it."""


class _Piece(msgspec.Struct, eq=False):
    """A record that is a piece of a text. Its line is `before`, `text` and `after`."""

    before: bytes
    """Ends with the quote that opens the text. Pieces with equal `before` and `after` belong to the same text."""
    text: bytearray
    """As JSON, without quotes."""
    after: bytes

    def line(self) -> bytes:
        return b"".join((self.before, self.text, self.after))


class _Render(msgspec.Struct, eq=False):
    """The content of a panel; empty once newer content waits behind it."""

    data: bytes

    def line(self) -> bytes:
        return self.data


class RecordQueue:
    """An outbox (see `FdWriter`) that joins records.

    While more than `JOIN_ABOVE` bytes wait, a `text_delta` is joined to a `text_delta` directly before it of the same
    prompt, and so are `tool_use_args` and `tool_progress` of the same id; of the contents of one panel only the newest
    waits. Nothing else is left out or changes its place. A record that was written in part stays as it is.
    """

    def __init__(self) -> None:
        self.queued = 0
        """The number of waiting bytes."""
        self._begun = memoryview(b"")
        """The rest of a line that was written in part."""
        self._lines: deque[bytes | _Piece | _Render] = deque()
        self._renders: dict[tuple[str, str], _Render] = {}
        """The newest content of each panel that waits."""

    def append(self, data: bytes | memoryview) -> None:
        """Adds a line that is never joined."""
        if data:
            self._lines.append(bytes(data))
            self.queued += len(data)

    def append_record(self, record: events.Record, prompt: str) -> None:
        """Adds a record. `prompt` is the id of its prompt, which the line repeats; "" for none."""
        encoded = events.encode(record)
        after = b',"prompt":"%s"}\n' % prompt.encode() if prompt else b"}\n"
        if self.queued <= JOIN_ABOVE:
            self.append(encoded[:-2] + after)
        elif (text := _text_of(record)) is not None:
            piece = msgspec.json.encode(text)[1:-1]
            self._append_piece(
                encoded[: -len(piece) - 3], piece, b'"' + after, may_join=not text.startswith(AFTER_A_GAP)
            )
        elif isinstance(record, events.PanelRender):
            self._append_render((record.extension, record.panel_id), encoded[:-2] + after)
        else:
            self.append(encoded[:-2] + after)

    def flush(self, write: Callable[[memoryview], int]) -> int:
        """As `Outbox.flush`."""
        before = self.queued
        while self._begun or self._lines:
            chunk = self._begun or memoryview(_line_of(self._lines[0]))
            try:
                taken = write(chunk) if chunk else 0
            except BlockingIOError:
                break
            if not taken and chunk:
                break
            if not self._begun:
                self._forget(self._lines.popleft())
            self.queued -= taken
            self._begun = chunk[taken:]
        return before - self.queued

    def clear(self) -> None:
        self.queued = 0
        self._begun = memoryview(b"")
        self._lines.clear()
        self._renders.clear()

    def _append_piece(self, before: bytes, piece: bytes, after: bytes, *, may_join: bool) -> None:
        last = self._lines[-1] if self._lines else None
        if (
            may_join
            and isinstance(last, _Piece)
            and (last.before, last.after) == (before, after)
            and len(last.text) + len(piece) <= JOINED_LIMIT
        ):
            last.text += piece
            self.queued += len(piece)
        else:
            self._lines.append(_Piece(before, bytearray(piece), after))
            self.queued += len(before) + len(piece) + len(after)

    def _append_render(self, panel: tuple[str, str], line: bytes) -> None:
        if (older := self._renders.get(panel)) is not None:
            self.queued -= len(older.data)
            older.data = b""
        self._renders[panel] = render = _Render(line)
        self._lines.append(render)
        self.queued += len(line)

    def _forget(self, taken: bytes | _Piece | _Render) -> None:
        """Notes that a line was written, at least in part, and must not change now."""
        if isinstance(taken, _Render):
            self._renders = {panel: render for panel, render in self._renders.items() if render is not taken}


def _line_of(waiting: bytes | _Piece | _Render) -> bytes:
    return waiting if isinstance(waiting, bytes) else waiting.line()


def _text_of(record: events.Record) -> str | None:
    """The text of a record that is a piece of a text; it is the last member. None for any other record."""
    match record:
        case events.TextDelta(delta=text) | events.ToolUseArgs(delta=text) | events.ToolProgress(text=text):
            return text
        case _:
            return None
