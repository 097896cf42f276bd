"""Makes faulty inputs from good ones: changes of bytes, and changes of the JSON in them.

Each input is a seed with one to four edits. The places of all JSON values, members and lines of a seed are found once;
an edit replaces one of them, or some bytes, in the text. So members can be there twice, and the rest of the text stays
as it is. An input depends on the run's seed and on its own number only.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TRUNCATED = 8
"""Of so many inputs, one is a seed that is cut off. All bytes of all seeds are gone through, one after another."""
EDITS = 4
"""Most edits of one input."""
ODD_VALUES = (
    b"null", b"true", b"false", b"0", b"-1", b"-0.0", b"1.5", b"1e5", b"255", b"256", b"1e309", b"-1e309", b"1e-320",
    b"9007199254740993", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"9" * 400,
    b"NaN", b"Infinity", b"-Infinity", b"01", b"+1", b"1.", b".5", b'""', b'" "', b'"x"', b'"0"', b'"1"', b'"2"',
    b'"null"', b'"true"', b'"\\ud800"', b'"\\udc00\\ud83d"', b'"\\u0000"', b'"\\u001b[2J"', b'"\\u202e"', b'"\x00"',
    b'"\x1b]0;t\x07"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\xf0\x9f\x98\x80"', b'"\\n\\r\\u2028"', b'"../../x"',
    b'"/"', b'"$ref"', b'"#/$defs/x"', b'"(a+)+$"', b'"{{cwd}}"', b'"${any}"', b"[]", b"{}", b"[[]]", b"[null]",
    b'{"":null}', b'{"a":1,"a":2}', b'[1,"a",null,{}]', b'{"$ref":"#"}', b'{"type":"text","text":7}', b'"', b"{", b"[",
    b"]", b"}", b",", b":", b"", b"\\", b"/*", b"tru",
)  # fmt: skip
ODD_NAMES = (
    b'""', b'"type"', b'"id"', b'"name"', b'"x"', b'"__proto__"', b'"__dict__"', b'"$ref"', b'"$id"', b'"\\ud800"',
    b'"\\u0000"', b'"\xff"', b'"a.b[0]"', b'"`"', b'"  "', b"1", b"null", b"x",
)  # fmt: skip
ODD_BYTES = (
    b"\x00", b"\n", b"\r\n", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\u", b"\\", b'"',
    b"{", b"}", b"[", b"]", b",", b":", b" ", b"\t", b"\x1b[", b"\x7f", b"-", b"e", b"9", b"\n\n", b"{}\n",
)  # fmt: skip
LARGE_ONE_IN = 100
"""Of so many replaced values, one is large or deep."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+')


class Span(NamedTuple):
    """A part of a text: from its first byte to the byte behind its last."""

    start: int
    end: int


class Edit(NamedTuple):
    """Bytes that take the place of a span."""

    start: int
    end: int
    new: bytes


class Seed:
    """A good input, with the places of its parts. `names` are the names of `members`, by the same index."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.values: list[Span] = []
        self.members: list[Span] = []
        self.names: list[Span] = []
        self.lines: list[Span] = []
        self._find_lines()
        self._find_json()

    def _find_lines(self) -> None:
        start = 0
        while start < len(self.text):
            end = self.text.find(b"\n", start) + 1 or len(self.text)
            self.lines.append(Span(start, end))
            start = end

    def _find_json(self) -> None:
        opened: list[int] = []
        name: list[Span | None] = [None]  # of the member whose value comes next, for each open object
        last: Span | None = None  # a string that may be a name

        def found(start: int, end: int) -> None:
            self.values.append(Span(start, end))
            if (called := name[-1]) is not None:
                self.members.append(Span(called.start, end))
                self.names.append(called)
                name[-1] = None

        for token in _TOKEN.finditer(self.text):
            word = token[0]
            if word in (b"{", b"["):
                opened.append(token.start())
                name.append(None)
            elif word in (b"}", b"]"):
                if opened:
                    name.pop()
                    found(opened.pop(), token.end())
            elif word == b":":
                if last is not None and self.values:
                    self.values.pop()  # it is a name, no value
                    name[-1] = last
            elif word != b",":
                found(token.start(), token.end())
            last = Span(token.start(), token.end()) if word[:1] == b'"' else None


class Mutator:
    """Makes the inputs of one target from its seeds."""

    def __init__(self, seeds: Sequence[bytes]) -> None:
        self.seeds = [Seed(text) for text in seeds]
        self._chance = random.Random()
        self._cuts = [0]
        for seed in self.seeds:
            self._cuts.append(self._cuts[-1] + len(seed.text))
        with_json = [seed for seed in self.seeds if seed.values]
        self._of_json: tuple[Callable[[Seed], Edit | None], ...] = (
            self._replace, self._replace, self._borrow, self._borrow, self._delete, self._repeat, self._repeat_name,
            self._rename, self._nest, self._swap_in, self._copy_line, self._delete_line,
        )  # fmt: skip
        self._of_bytes: tuple[Callable[[Seed], Edit | None], ...] = (
            self._flip, self._insert, self._cut, self._double, self._splice, self._copy_line, self._delete_line,
        )  # fmt: skip
        self._with_json = with_json or self.seeds

    def input(self, run_seed: int, number: int) -> bytes:
        """The input with this number; the first ones are the seeds as they are."""
        if number < len(self.seeds):
            return self.seeds[number].text
        if number % TRUNCATED == 0:
            return self._truncated(number // TRUNCATED)
        chance = self._chance
        chance.seed(run_seed << 40 | number)
        seed = self.seeds[self._below(len(self.seeds))]
        edits: list[Edit] = []
        for _ in range(1 + self._below(EDITS) if chance.random() < 0.5 else 1):
            of_json = seed.values and chance.random() < 0.75
            ways = self._of_json if of_json else self._of_bytes
            if (edit := ways[self._below(len(ways))](seed)) is not None:
                edits.append(edit)
        return _edited(seed.text, edits)

    def _truncated(self, number: int) -> bytes:
        at = number % self._cuts[-1] if self._cuts[-1] else 0
        for seed, start, end in zip(self.seeds, self._cuts, self._cuts[1:], strict=False):
            if start <= at < end:
                return seed.text[: at - start]
        return b""

    def _below(self, count: int) -> int:
        return int(self._chance.random() * count)

    def _one(self, spans: Sequence[Span]) -> Span:
        return spans[int(self._chance.random() * len(spans))]

    # --- JSON -------------------------------------------------------------------------------------------------

    def _replace(self, seed: Seed) -> Edit:
        span = self._one(seed.values)
        return Edit(*span, self._odd_value())

    def _odd_value(self) -> bytes:
        if self._below(LARGE_ONE_IN):
            return ODD_VALUES[self._below(len(ODD_VALUES))]
        size = 10 ** (2 + self._below(4)) if self._below(4) else 300
        return (
            b'"' + b"a" * size + b'"',
            b'"' + b"\\u00e9" * (size // 6) + b'"',
            b"[" * min(size, 5000) + b"]" * min(size, 5000),
            b'{"a":' * min(size, 2000) + b"1" + b"}" * min(size, 2000),
            b"[" + b"0," * (size // 2) + b"0]",
            b"{" + b",".join(b'"k%d":%d' % (at, at) for at in range(size // 10)) + b"}",
            b"9" * size,
            b"[" * min(size, 5000),
        )[self._below(8)]

    def _borrow(self, seed: Seed) -> Edit:
        other = self._with_json[self._below(len(self._with_json))]
        span = self._one(other.values)
        return Edit(*self._one(seed.values), other.text[span.start : span.end])

    def _delete(self, seed: Seed) -> Edit:
        start, end = self._one(seed.members or seed.values)
        if seed.text[end : end + 1] == b",":
            end += 1
        elif seed.text[start - 1 : start] == b",":
            start -= 1
        return Edit(start, end, b"")

    def _repeat(self, seed: Seed) -> Edit:
        start, end = self._one(seed.members or seed.values)
        times = 200 if not self._below(50) else 1
        return Edit(start, start, (seed.text[start:end] + b",") * times)

    def _repeat_name(self, seed: Seed) -> Edit:
        """A member with the name of another one, before or behind it."""
        if not seed.names:
            return self._repeat(seed)
        at = self._below(len(seed.names))
        name, member = seed.names[at], seed.members[at]
        value = self._odd_value()
        if self._below(2):
            return Edit(member.start, member.start, seed.text[name.start : name.end] + b":" + value + b",")
        return Edit(member.end, member.end, b"," + seed.text[name.start : name.end] + b":" + value)

    def _rename(self, seed: Seed) -> Edit:
        if not seed.names:
            return self._replace(seed)
        name = self._one(seed.names)
        if self._below(2):
            return Edit(*name, ODD_NAMES[self._below(len(ODD_NAMES))])
        other = self._with_json[self._below(len(self._with_json))]
        if not other.names:
            return self._replace(seed)
        start, end = self._one(other.names)
        return Edit(*name, other.text[start:end])

    def _nest(self, seed: Seed) -> Edit:
        start, end = self._one(seed.values)
        deep = (1, 1, 2, 30, 101, 260, 1100)[self._below(7)]
        if self._below(2):
            return Edit(start, end, b"[" * deep + seed.text[start:end] + b"]" * deep)
        return Edit(start, end, b'{"a":' * deep + seed.text[start:end] + b"}" * deep)

    def _swap_in(self, seed: Seed) -> Edit:
        """A value of the same text in the place of another one."""
        start, end = self._one(seed.values)
        return Edit(*self._one(seed.values), seed.text[start:end])

    # --- bytes and lines --------------------------------------------------------------------------------------

    def _flip(self, seed: Seed) -> Edit:
        at = self._below(len(seed.text) or 1)
        return Edit(at, at + 1, bytes((self._below(256),)))

    def _insert(self, seed: Seed) -> Edit:
        at = self._below(len(seed.text) + 1)
        return Edit(at, at, ODD_BYTES[self._below(len(ODD_BYTES))] * (1 if self._below(20) else 2000))

    def _cut(self, seed: Seed) -> Edit:
        at = self._below(len(seed.text) or 1)
        return Edit(at, at + 1 + self._below(40), b"")

    def _double(self, seed: Seed) -> Edit:
        at = self._below(len(seed.text) or 1)
        piece = seed.text[at : at + 1 + self._below(60)]
        return Edit(at, at, piece * (1 if self._below(20) else 500))

    def _splice(self, seed: Seed) -> Edit:
        """The end of another seed in the place of the own end."""
        other = self.seeds[self._below(len(self.seeds))].text
        at = self._below(len(seed.text) + 1)
        return Edit(at, len(seed.text), other[self._below(len(other) + 1) :])

    def _copy_line(self, seed: Seed) -> Edit | None:
        other = self.seeds[self._below(len(self.seeds))]
        if not seed.lines or not other.lines:
            return None
        start, end = self._one(other.lines)
        at = self._one(seed.lines).start
        return Edit(at, at, other.text[start:end])

    def _delete_line(self, seed: Seed) -> Edit | None:
        return Edit(*self._one(seed.lines), b"") if len(seed.lines) > 1 else None


def _edited(text: bytes, edits: list[Edit]) -> bytes:
    """The text after all edits; of two that overlap, the one with the later start counts."""
    if len(edits) == 1:
        start, end, new = edits[0]
        return text[:start] + new + text[end:]
    limit = len(text)
    for start, end, new in sorted(edits, reverse=True):
        if end <= limit or start == limit:
            text = text[:start] + new + text[min(end, limit) :]
            limit = start
    return text
