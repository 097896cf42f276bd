"""Cuts a byte stream into messages that headers announce: `Content-Length: N`, a blank line, and N bytes of JSON.

The time is linear in the number of bytes, and the result does not depend on how they are cut into chunks. Programs also
write other text to the same stream, so the next message is found behind any text:

- Text that is not a header is cut at LF into lines, each an `OtherText`.
- A header may follow other text in its line. It is spelt `Content-Length` or `content-length`.
- A body must begin with `{` and end with `}`. If it does not, or if it contains the header of another message, its own
  header was only text; nothing behind it is lost. No JSON contains such a header: strings have no line breaks.
- A body that other text separates from its header is found by the words with which bodies begin.

A body longer than the limit is dropped and reported; memory is bounded by the limit. No call of `feed` takes long: if a
body turns out to be text, it returns only a part.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from wire.framing import length_headers as forms
from wire.framing.length_headers import (
    AT_END,
    AT_END_WITHIN,
    BLANK_LIMIT,
    CONTENT_TYPE,
    FIRST,
    HEADERS_LIMIT,
    MOST,
    NOT_BLANK,
    OTHER_LINE,
    OTHER_WITHIN,
    first_header,
    is_body,
    is_usual_body,
    usual_messages,
)  # fmt: skip
from wire.framing.lines import COPIED, DEFAULT_FRAME_LIMIT, PREFIX_KEPT, Line, Oversize

if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST_MESSAGE = 19
"""Length of `{"id":1,"result":0}` in bytes."""


class OtherText(bytes):
    """A line of text that belongs to no message."""


def add_header(body: bytes) -> bytes:
    """Returns the message with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class _State(Enum):
    TEXT = "looks for a header"
    HEADERS = "has seen Content-Length, and looks for the blank line"
    BODY = "collects a body"
    STRAY = "looks for a body behind other text"
    LONG_TEXT = "drops a line of text"
    LONG_BODY = "drops a body"


class ContentSplitter:
    """Splits a byte stream into the bodies of its messages and into lines of other text.

    `feed` returns them in order, with an `Oversize` in the place of each one that was dropped.
    """

    __slots__ = (
        "_allowed", "_at", "_dropped", "_first", "_found", "_header", "_held", "_left", "_limit_of", "_others",
        "_searched", "_size", "_start", "_starts", "_state", "has_more", "limit", "pending", "shortest",
    )  # fmt: skip

    def __init__(
        self,
        limit: int = DEFAULT_FRAME_LIMIT,
        limit_of: Callable[[bytes], int] | None = None,
        *,
        shortest: int = SHORTEST_MESSAGE,
    ) -> None:
        """`limit_of` returns the limit of a body longer than `limit`, by its first bytes, `PREFIX_KEPT` at most.
        `shortest` is for `framing.drop_scraps`."""
        if limit < 1:
            raise ValueError(f"frame limit must be positive, not {limit}")
        self.limit = limit
        self.shortest = shortest
        self.pending = 0
        """Number of bytes held back until it is clear what they are."""
        self.has_more = False
        """Whether the next `feed` returns more, even for an empty chunk."""
        self._limit_of = limit_of
        self._state = _State.TEXT
        self._left = 0  # steps of this call of `feed`
        self._held = bytearray()
        self._at = 0  # position in `_held` of the first byte that was not returned
        self._found: list[Line | Oversize] = []
        self._header = b""  # the line of Content-Length, until its body is found
        self._size = 0  # bytes of the body
        self._others = 0
        self._start = 0  # start of the body, counted from `_at`
        self._starts = 0
        self._searched = 0  # end of the part of the body without a header, counted from `_at`
        self._allowed = limit
        self._first = b""  # first bytes of a dropped body or line
        self._dropped = 0

    def feed(self, data: bytes) -> list[Line | Oversize]:
        """Takes the next chunk. Returns the messages and lines that it completes."""
        self._found = []
        if not self.pending and (self._state is _State.TEXT or self._state is _State.BODY):
            at = self._usual(data)
            if at == len(data):
                return self._found
            if at:
                data = data[at:]
        self._held += data
        self._left = max(forms.STEPS_LIMIT, len(data) // forms.STEP_BYTES)
        while (self._left > 0 or len(self._held) - self._at > forms.HELD_LIMIT) and self._step():
            self._left -= 1
        self.has_more = self._left <= 0
        if self._at:
            del self._held[: self._at]
            self._at = 0
        self.pending = len(self._held)
        return self._found

    def _usual(self, data: bytes) -> int:
        """Fast path: takes complete messages of the usual form from the start of a chunk; the last header may end the
        chunk, and its body be the next chunk. Returns where the rest begins."""
        at = 0
        if self._state is _State.BODY:
            if len(data) < self._size or not is_usual_body(data, 0, self._size):
                return 0
            at = self._size
            self._found.append(data if at == len(data) else data[:at])
            self._state = _State.TEXT
            self._header = b""
        at, announced = usual_messages(data, at, self.limit, self._found)
        if announced:
            self._begin_body(data[at:-3], announced)
            return len(data)
        return at

    def finish(self) -> Line | Oversize | None:
        """Returns the rest at the end of the stream; None if it ended behind a message or a line."""
        rest = self._header + bytes(self._held)
        if self._state in (_State.LONG_TEXT, _State.LONG_BODY):
            self._found = []
            self._tell_dropped(0, len(self._held), self._allowed if self._state is _State.LONG_BODY else self.limit)
            return self._found[0]
        if len(rest) > max(self.limit, self._allowed):
            return Oversize(len(rest), rest[:PREFIX_KEPT], self.limit, rest[-PREFIX_KEPT:])
        return OtherText(rest) if rest else None

    # --- one step of each state; returns whether to go on --------------------------------------------------

    def _step(self) -> bool:
        state = self._state
        if state is _State.BODY:
            return self._body()
        if state is _State.STRAY:
            return self._stray()
        if state is _State.LONG_BODY:
            return self._long_body()
        end = self._held.find(b"\n", self._at)
        if state is _State.HEADERS:
            return self._other_header(end)
        if state is _State.LONG_TEXT:
            return self._long_text(end)
        return self._text(end)

    def _text(self, end: int) -> bool:
        held, at = self._held, self._at
        if end < 0:
            if len(held) - at <= max(self.limit, PREFIX_KEPT):
                return False
            self._state = _State.LONG_TEXT
            self._first = bytes(held[at : at + PREFIX_KEPT])
            self._dropped = 0
            return True
        if (last := self._last_of_plain(at)) > end:
            self._at = last + 1
            lines = held[at:last].split(b"\n")
            self._found += [OtherText(line) for line in lines if line.strip(forms.BLANKS)]
            self._left -= len(lines) // forms.STEP_BYTES + sum(len(line) >= self.shortest for line in lines)
            return True
        self._at = end + 1
        header = self._length_at_end(at, end)
        text = held[at : end if header is None else header]
        if end - at > self.limit:
            self._found.append(Oversize(len(text), bytes(text[:PREFIX_KEPT]), self.limit, bytes(text[-PREFIX_KEPT:])))
        else:
            self._tell(text)
        return True

    def _last_of_plain(self, at: int) -> int:
        """Returns the end of the last line before anything like a header; -1 if there is no such line."""
        word = forms.CONTENT_WORD.search(self._held, at, at + min(self.limit, forms.PLAIN))
        return self._held.rfind(b"\n", at, at + min(self.limit, forms.PLAIN) if word is None else word.start())

    def _long_text(self, end: int) -> bool:
        held, at = self._held, self._at
        if end < 0:
            self._forget(len(held))
            return False
        self._at = end + 1
        self._state = _State.TEXT
        header = self._length_at_end(at, end)
        self._tell_dropped(at, end if header is None else header, self.limit)
        return True

    def _length_at_end(self, start: int, end: int) -> int | None:
        """If the line that ends at `end` ends in a header, goes on with it and returns where it begins; else None."""
        seen = AT_END.search(self._held, max(start, end - AT_END_WITHIN), end)
        if seen is None or not 1 < int(seen[1]) <= MOST:
            return None
        self._state = _State.HEADERS
        self._header = bytes(seen[0])
        self._size = int(seen[1])
        self._others = 0
        return seen.start()

    def _other_header(self, end: int) -> bool:
        held, at = self._held, self._at
        if end < 0:
            if len(held) - at <= OTHER_WITHIN:
                return False
            self._give_header_up()
            return True
        line = bytes(held[at : min(end, at + OTHER_WITHIN)])
        if line in (b"", b"\r"):
            self._at = end + 1
            self._begin_body(self._header, self._size)
        elif self._others < HEADERS_LIMIT and OTHER_LINE.match(line) and not AT_END.match(line):
            self._others += 1
            self._at = end + 1
        else:
            self._give_header_up()
        return True

    def _begin_body(self, header: bytes, size: int) -> None:
        self._header = header
        self._size = size
        self._state = _State.BODY
        self._start = self._starts = self._searched = 0
        self._allowed = self.limit

    def _body(self) -> bool:
        held, at, size = self._held, self._at, self._size
        if not self._starts:
            within = min(size, BLANK_LIMIT)
            first = NOT_BLANK.search(held, at, at + within)
            if first is None and len(held) - at < within:
                return False
            self._starts = 1
            if first is None or held[first.start()] != FIRST:
                return self._look_elsewhere()
        start = at + self._start
        end = start + size
        have = len(held)
        if size > self._allowed and (is_decided := self._judge_size(start, min(have, end))) is not None:
            return is_decided
        if self._has_header(start, min(have, end)):
            self._give_header_up()
            return True
        if have < end:
            return False
        if not is_body(held, start, end):
            return self._look_elsewhere()
        self._tell_lines(held[at:start])
        self._state = _State.TEXT
        self._header = b""
        if size <= COPIED or end < have:
            self._found.append(bytes(held[start:end]) if size <= COPIED else held[start:end])
            self._at = end
            return True
        del held[:start]
        self._found.append(held)
        self._held = bytearray()
        self._at = 0
        return False

    def _judge_size(self, start: int, have: int) -> bool | None:
        """Decides by its first bytes whether a body may be over the limit. Returns None if so, else the step's
        result."""
        start_end = min(start + self._size, start + PREFIX_KEPT)
        if self._has_header(start, min(have, start_end)):
            self._give_header_up()
            return True
        if have < start_end:
            return False
        if self._limit_of is not None:
            self._allowed = max(self.limit, self._limit_of(bytes(self._held[start:start_end])))
        if self._size <= self._allowed:
            return None
        self._drop_body(start)
        return True

    def _look_elsewhere(self) -> bool:
        self._state = _State.STRAY
        self._searched = self._start
        return True

    def _stray(self) -> bool:
        """Looks for the body of a header farther behind it."""
        held, at = self._held, self._at
        last = at + forms.STRAY_LIMIT + len(forms.BODY_START)
        start = held.find(
            forms.BODY_START, max(at + self._start + 1, at + self._searched - len(forms.BODY_START)), last
        )
        is_over = self._starts == forms.STARTS_LIMIT or (start < 0 and len(held) >= last)
        if is_over or self._has_header(at, len(held) if start < 0 else start):
            self._give_header_up()
            return True
        if start < 0:
            return False
        self._starts += 1
        self._start = start - at
        self._searched = 0
        self._allowed = self.limit
        self._state = _State.BODY
        return True

    def _drop_body(self, start: int) -> None:
        self._tell_lines(self._held[self._at : start])
        self._at = start
        self._state = _State.LONG_BODY
        self._first = bytes(self._held[start : start + PREFIX_KEPT])
        self._dropped = 0
        self._searched = 0
        self._header = b""

    def _long_body(self) -> bool:
        held, at = self._held, self._at
        end = at + self._size - self._dropped
        until = min(len(held), end)
        header = self._header_at(at, until)
        if header is None and until < end:
            self._forget(until)
            return False
        self._at = end if header is None else header
        self._tell_dropped(at, self._at, self._allowed)
        self._state = _State.TEXT
        return True

    # --- helpers of the steps -----------------------------------------------------------------------------

    def _tell(self, text: bytes | bytearray) -> None:
        """Adds a line of text to the result, unless it is blank or is the `Content-Type` of the next body."""
        if NOT_BLANK.search(text) and not CONTENT_TYPE.match(text):
            self._found.append(OtherText(text))

    def _tell_lines(self, text: bytearray) -> None:
        for line in text.split(b"\n") if text else ():
            self._tell(line)

    def _tell_dropped(self, at: int, end: int, limit: int) -> None:
        size = self._dropped + end - at
        self._found.append(
            Oversize(size, self._first[:size], limit, bytes(self._held[max(at, end - PREFIX_KEPT) : end]))
        )

    def _forget(self, end: int) -> None:
        """Keeps the last bytes of the dropped part: a header may have begun in them."""
        surplus = end - self._at - 2 * PREFIX_KEPT
        if surplus > 0:
            self._dropped += surplus
            self._at += surplus
            self._searched = max(0, self._searched - surplus)

    def _give_header_up(self) -> None:
        """The header was only text."""
        self._tell(self._header)
        self._header = b""
        self._state = _State.TEXT

    def _has_header(self, start: int, end: int) -> bool:
        return self._header_at(start, end) is not None

    def _header_at(self, start: int, end: int) -> int | None:
        """Returns where the first complete header between these positions begins, or None. Searches no byte twice."""
        at = max(start, self._at + self._searched)
        self._searched = max(self._searched, end - self._at)
        return first_header(self._held, start, at, end)
