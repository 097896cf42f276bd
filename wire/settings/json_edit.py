"""Changes members of objects in a JSON file that people write, and leaves the rest of its text unchanged.

Order, indentation, line ends, comments and unknown fields stay. Pure.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

from wire.lenient_json import MARK
from wire.settings.mcp_file import TOP, plain_json

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(rb'[^][{},:"\s]+')
_SPACE = re.compile(rb"\s*")
_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
INDENT = b"  "
"""Indentation of one level in a file without indentation."""


class _Member(NamedTuple):
    """A member of an object; the positions are bytes of the text."""

    name: str
    start: int
    """Start of its name."""
    value: int
    end: int


def set_member(text: bytes, section: str, name: str, value: Any) -> bytes:
    """Returns the text with this member in the object `section` of the outermost object: it replaces the member of the
    same name, or is added behind the last one. A missing section is added behind the last member. The text must be
    empty, or `plain_json` of it must be a JSON object whose section, if any, is an object."""
    edited = JsonText(text)
    if not edited.plain.strip():
        return _json({section: {name: value}}, INDENT) + b"\n"
    held = edited.last(edited.outermost, section)
    if held is None:
        edited.add(edited.outermost, section, {name: value}, b"")
    else:
        edited.put(held, name, value)
    return edited.whole


def remove_member(text: bytes, section: str, name: str) -> bytes:
    """Returns the text without the members of this name in the object `section` of the outermost object. The text must
    be as for `set_member`, but not empty."""
    edited = JsonText(text)
    held = edited.last(edited.outermost, section)
    while held is not None and edited.last(held.value, name) is not None:
        edited.remove(held.value, name)
    return edited.whole


class JsonText:
    """The text of a JSON object, which is changed in place. Each change takes a pass over the whole text."""

    def __init__(self, text: bytes) -> None:
        self._mark = MARK if text.startswith(MARK) else b""
        self._text = text.removeprefix(MARK)
        self.plain = plain_json(text)
        """The text without comments; each byte keeps its position."""

    @property
    def whole(self) -> bytes:
        return self._mark + self._text

    def replace(self, start: int, end: int, new: bytes) -> None:
        self._text = self._text[:start] + new + self._text[end:]
        self.plain = plain_json(self._text)

    # --- reading ----------------------------------------------------------------------------------------------

    @property
    def outermost(self) -> int:
        """Position of the outermost object."""
        return self._past_space(0)

    def last(self, brace: int, name: str) -> _Member | None:
        """Returns the member `name` of the object at `brace`, the last one of several, as readers of the file take it;
        None if it is missing."""
        return next((member for member in reversed(self._members(brace)) if member.name == name), None)

    def is_object(self, member: _Member) -> bool:
        return self.plain[member.value : member.value + 1] == b"{"

    def lead(self, at: int) -> bytes:
        """Returns the white space at the start of the line of `at`."""
        line = self._text[self._text.rfind(b"\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip())]

    @property
    def _unit(self) -> bytes | None:
        """Indentation of one level; None if the file is one line."""
        outer = self._members(self.outermost)
        if not outer:
            return INDENT
        if b"\n" not in self.plain[self.outermost : outer[0].start]:
            return None
        return self.lead(outer[0].start) or INDENT

    @property
    def _line_end(self) -> bytes:
        return b"\r\n" if b"\r\n" in self._text else b"\n"

    def shown(self, value: Any, lead: bytes) -> bytes:
        """Returns the value as JSON for its place behind a name, in a line that starts with `lead`."""
        return _json(value, self._unit).replace(b"\n", self._line_end + lead)

    def _members(self, brace: int) -> list[_Member]:
        found = []
        at = self._past_space(brace + 1)
        while self.plain[at : at + 1] != b"}":
            name = _STRING.match(self.plain, at)
            assert name is not None, "the text is no JSON object"
            value = self._past_space(self._past_space(name.end()) + 1)
            end = self._end_of(value)
            found.append(_Member(msgspec.json.decode(name[0]), at, value, end))
            at = self._past_space(end)
            if self.plain[at : at + 1] == b",":
                at = self._past_space(at + 1)
        return found

    def _end_of(self, at: int) -> int:
        """Returns the end of the value that begins at `at`."""
        if self.plain[at : at + 1] not in (b"{", b"["):
            scalar = (_STRING if self.plain[at : at + 1] == b'"' else _SCALAR).match(self.plain, at)
            assert scalar is not None, "the text is no JSON"
            return scalar.end()
        depth = 0
        for token in _BRACKET.finditer(self.plain, at):
            depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
            if depth == 0:
                return token.end()
        raise AssertionError("the text is no JSON")

    def _past_space(self, at: int) -> int:
        found = _SPACE.match(self.plain, at)
        assert found is not None
        return found.end()

    def _end_of_line(self, at: int) -> int | None:
        """Returns the end of the line if only a comment may follow `at` in it, else None."""
        end = self.plain.find(b"\n", at)
        if end < 0 or self.plain[at:end].strip():
            return None
        return end - (self._text[end - 1 : end] == b"\r")

    # --- changing ---------------------------------------------------------------------------------------------

    def put(self, held: _Member, name: str, value: Any) -> None:
        """Sets the member `name` of the object that is the value of `held`, which stays in its place."""
        if (old := self.last(held.value, name)) is None:
            self.add(held.value, name, value, self.lead(held.start))
        else:
            self.replace(old.value, old.end, self.shown(value, self.lead(old.start)))

    def add(self, brace: int, name: str, value: Any, lead: bytes) -> None:
        """Adds a member behind the last one of the object at `brace`, whose line starts with `lead`."""
        members, unit, end = self._members(brace), self._unit, self._line_end
        if members and b"\n" in self.plain[brace : members[-1].start]:
            lead = self.lead(members[-1].start)
            new = end + lead + _json(name, None) + b": " + self.shown(value, lead)
            self._add_behind(members[-1].end, b",", new)
        elif members or unit is None:
            at = members[-1].end if members else brace + 1
            self.replace(at, at, (b", " if members else b"") + _json(name, None) + b": " + _json(value, None))
        else:
            new = end + lead + unit + _json(name, None) + b": " + self.shown(value, lead + unit)
            self.replace(brace + 1, self._past_space(brace + 1), new + end + lead)

    def _add_behind(self, at: int, comma: bytes, new: bytes) -> None:
        """Adds a member behind the one that ends at `at`, and behind a comment in the same line."""
        line_end = self._end_of_line(at)
        if line_end is None or not self._text[at:line_end].strip():
            self.replace(at, at, comma + new)
            return
        rest = self._text[at:line_end]
        self.replace(at, line_end, (b"" if rest.lstrip().startswith(b",") else comma) + rest + new)

    def remove(self, brace: int, name: str) -> None:
        """Removes the first member of this name. Comments in other lines stay."""
        members = self._members(brace)
        index = next(index for index, member in enumerate(members) if member.name == name)
        member = members[index]
        if len(members) == 1:
            self.replace(brace + 1, self._past_space(member.end), b"")
        elif index + 1 < len(members):
            comma = self._past_space(member.end)
            line_end = self._end_of_line(comma + 1)
            after = members[index + 1].start
            if line_end is not None:
                space = _SPACE.match(self._text, line_end)
                after = line_end if space is None else space.end()
            self.replace(member.start, after, b"")
        else:
            comma = self._past_space(members[index - 1].end)
            kept = self._text[comma + 1 : member.start].rstrip()
            self.replace(comma, member.end, kept)


def _json(value: Any, unit: bytes | None) -> bytes:
    return json.dumps(value, indent=None if unit is None else unit.decode(), ensure_ascii=False).encode()


def switch_server(text: bytes, key: str, *, on: bool) -> bytes | None:
    """Returns the text with this server enabled or disabled; None if the file has no such server or it is not an
    object. `parse_mcp` must accept the text."""
    edited = JsonText(text)
    sections = (edited.last(edited.outermost, top) for top in TOP)
    server = next((found for held in sections if held and (found := edited.last(held.value, key))), None)
    if server is None or not edited.is_object(server):
        return None
    values = {"disabled": not on, "enabled": on}
    there = [field for field in values if edited.last(server.value, field)]
    for field in there or ([] if on else ["disabled"]):
        edited.put(server, field, values[field])
    return edited.whole
