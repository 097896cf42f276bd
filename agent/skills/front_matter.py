"""Reads the frontmatter of a skill: YAML between two lines `---` at the beginning of the file. Pure.

Its values are read as the texts that were written, from the events of the parser: no tag makes an object, no alias
grows, and nesting, which has a bound, does not use the stack, as it does in the constructors of PyYAML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.events import Event

FENCE = "---"
LENGTH = 64 * 1024
"""Characters of a frontmatter at most."""
DEPTH = 100
"""Levels of a value. The time that the parser takes grows with the square of the depth."""
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class FrontMatterError(ValueError):
    """A fault, and its line in the file, counted from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class Value(msgspec.Struct, frozen=True):
    """The value of a key: a text, a list of texts, or None for null and for what is neither."""

    line: int
    content: str | list[str] | None
    kind: str
    """`text`, `list`, `nothing`, or what else it is, in words."""


def split(text: str) -> tuple[str, int, str]:
    """The YAML, the number of its first line, and the body. Without frontmatter the YAML is "". Raises
    `FrontMatterError` if no line ends it."""
    start = text.lstrip()
    if start.partition("\n")[0].rstrip() != FENCE:
        return "", 0, text
    first = text[: len(text) - len(start)].count("\n") + 2
    lines = start.split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            return "\n".join(lines[1:number]), first, "\n".join(lines[number + 1 :]).lstrip("\r\n")
    raise FrontMatterError(first - 1, "the frontmatter that begins here has no end: a line --- must follow it")


def values(yaml_text: str, first_line: int) -> dict[str, Value]:
    """The values by their keys. Raises `FrontMatterError` if not YAML, no mapping, too long, or with a key twice."""
    if len(yaml_text) > LENGTH:
        raise FrontMatterError(first_line, f"the frontmatter is longer than {LENGTH >> 10} KiB")
    import yaml  # 40 ms, which only skills with frontmatter need

    try:
        from yaml import CSafeLoader as Loader
    except ImportError:  # PyYAML was built without libyaml
        from yaml import SafeLoader as Loader  # type: ignore[assignment]
    try:
        return _mapping(yaml.parse(yaml_text, Loader=Loader), first_line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark is not None else 0)
        raise FrontMatterError(line, f"not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise FrontMatterError(first_line, f"not YAML: {getattr(error, 'reason', None) or error}") from None
    except UnicodeError as error:
        raise FrontMatterError(first_line, f"not YAML: {error}") from None


def _mapping(events: Iterator[Event], first_line: int) -> dict[str, Value]:
    from yaml import events as kinds

    found: dict[str, Value] = {}
    stream = (event for event in events if not isinstance(event, kinds.StreamStartEvent | kinds.DocumentStartEvent))
    top = next(stream)
    if isinstance(top, kinds.StreamEndEvent):  # only comments
        return found
    if isinstance(top, kinds.ScalarEvent) and not top.value:
        return found
    if not isinstance(top, kinds.MappingStartEvent):
        raise FrontMatterError(_line(top, first_line), "it must be keys with values, such as name: my-skill")
    for key in stream:
        if isinstance(key, kinds.MappingEndEvent):
            break
        name = _value(key, stream, first_line)
        value = _value(next(stream), stream, first_line)
        if not isinstance(name.content, str):
            continue
        if name.content in found:
            raise FrontMatterError(
                name.line, f"{name.content} is there twice; the first is in line {found[name.content].line}"
            )
        found[name.content] = value
    for _ in stream:  # what follows must be YAML, too
        pass
    return found


def _value(event: Event, stream: Iterator[Event], first_line: int) -> Value:
    """The value that begins with this event; takes its other events from the stream."""
    from yaml import events as kinds

    line = _line(event, first_line)
    if isinstance(event, kinds.ScalarEvent):
        if event.value in _NULLS and event.implicit[0]:  # plain, without quotes
            return Value(line, None, "nothing")
        return Value(line, event.value, "text")
    if isinstance(event, kinds.AliasEvent):
        return Value(line, None, "an alias")
    items: list[str] = []
    is_plain = isinstance(event, kinds.SequenceStartEvent)
    depth = 1
    while depth:
        inner = next(stream)
        if isinstance(inner, kinds.CollectionStartEvent):
            depth += 1
            is_plain = False
            if depth > DEPTH:
                raise FrontMatterError(line, f"nested deeper than {DEPTH} levels")
        elif isinstance(inner, kinds.CollectionEndEvent):
            depth -= 1
        elif isinstance(inner, kinds.ScalarEvent):
            items.append(inner.value)
        else:
            is_plain = False
    if is_plain:
        return Value(line, items, "list")
    kind = "a list of other things than texts" if isinstance(event, kinds.SequenceStartEvent) else "keys with values"
    return Value(line, None, kind)


def _line(event: Event, first_line: int) -> int:
    return first_line + (event.start_mark.line if event.start_mark is not None else 0)
