"""Rewrites a script with the answers that an extension gives now. Pure.

Lines that are still right stay the same, byte for byte, as do lines of the host, notes and empty lines. In a line that
is no longer right only the differing members change: `${any}` and left out members stay.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from supervisor.harness.comparison import ANY, Difference, differences
from supervisor.harness.messages import ANSWERS
from supervisor.harness.script import Side, parse_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.harness.comparison import ScriptPaths
    from supervisor.harness.script import Script, ScriptStep

    Frame = dict[str, Any]


@dataclass(frozen=True)
class AnswerChange:
    """One changed line."""

    line: int
    """Its number in the old script, from 1; for a new line, the number of the line before it."""
    was: Frame | None
    """None for a new line."""
    now: Frame | None
    """None for a line that is left out."""
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class NewAnswers:
    """The new script, and in which lines it differs from the old one."""

    text: bytes
    changes: tuple[AnswerChange, ...]


def segments(script: Script) -> list[list[ScriptStep]]:
    """The steps, cut before each line of the host that follows a line of the extension. The first part has the frames
    that the extension sends unasked; it may be empty."""
    parts: list[list[ScriptStep]] = [[]]
    for step in script.steps:
        if step.side is Side.HOST and (not parts[-1] or parts[-1][-1].side is Side.EXTENSION):
            parts.append([])
        parts[-1].append(step)
    return parts


def rewrite(text: bytes, script: Script, said: Sequence[Sequence[Frame]], paths: ScriptPaths) -> NewAnswers:
    """Puts the frames of each segment in the place of the frames that the script expects there. `said` has an item for
    each of `segments`."""
    lines = text.split(b"\n")
    is_spaced = b'": ' in text
    spare = {*script.about.ignore, *(() if script.has_shutdown else ("shutdown_ack",))}
    changes: list[AnswerChange] = []
    replaced: dict[int, list[bytes]] = {}
    added: dict[int, list[bytes]] = {}
    after = 1 if lines[0].lstrip(b"\xef\xbb\xbf").lstrip().startswith(b'{"about"') else 0
    for steps, frames in zip(segments(script), said, strict=True):
        expected = [step for step in steps if step.side is Side.EXTENSION]
        after = next((step.line for step in reversed(steps) if step.side is Side.HOST), after)
        for step, frame in _align(expected, frames):
            if step is None:
                assert frame is not None
                if frame["type"] in spare:
                    continue
                now = paths.hide(frame)
                added.setdefault(after, []).append(_line(b"", now, is_spaced=is_spaced))
                changes.append(AnswerChange(after, None, now))
                continue
            after = step.line
            if frame is None:
                replaced[step.line] = []
                changes.append(AnswerChange(step.line, step.frame, None))
            elif found := differences(paths.fill(step.frame), frame):
                now = _merge(step.frame, frame, paths)
                replaced[step.line] = [_line(lines[step.line - 1], now, is_spaced=is_spaced)]
                changes.append(AnswerChange(step.line, step.frame, now, tuple(found)))
    result = list(added.get(0, ()))
    for number, line in enumerate(lines, 1):
        new = added.get(number, [])
        if new and number == len(lines):  # the last line has no end
            result += [*replaced.get(number, [line] if line else []), *new, b""]
        else:
            result += [*replaced.get(number, [line]), *new]
    rewritten = b"\n".join(result)
    parse_script(rewritten, script.name)  # what is written can be read
    return NewAnswers(rewritten, tuple(changes))


def _align(expected: Sequence[ScriptStep], said: Sequence[Frame]) -> Iterator[tuple[ScriptStep | None, Frame | None]]:
    """Pairs of a step and the frame in its place, in order. Frames of one type are paired; with an id or a registered
    name only if it is the same, or the script leaves it open."""
    old = [_key(step.frame) for step in expected]
    new = [_key(frame) for frame in said]
    if any(ANY in mark for _, mark in old):
        old, new = [(kind, "") for kind, _ in old], [(kind, "") for kind, _ in new]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(expected[start:end], said[first:last], strict=True)
        else:
            yield from ((step, None) for step in expected[start:end])
            yield from ((None, frame) for frame in said[first:last])


def _key(frame: Frame) -> tuple[str, str]:
    kind = str(frame["type"])
    mark = frame.get("name") if kind.startswith("register") else frame.get("id") if kind in ANSWERS.values() else None
    return kind, str(mark or "")


def _merge(expected: Any, said: Any, paths: ScriptPaths) -> Any:
    """`said`, with the parts of `expected` that still fit: placeholders, and objects with only some of the members."""
    if not differences(paths.fill(expected), said):
        return expected
    if isinstance(expected, dict) and isinstance(said, dict):
        return {key: _merge(value, said[key], paths) for key, value in expected.items() if said.get(key) is not None}
    if isinstance(expected, list) and isinstance(said, list) and len(expected) == len(said):
        return [_merge(old, new, paths) for old, new in zip(expected, said, strict=True)]
    return paths.hide(said)


def _line(old: bytes, frame: Frame, *, is_spaced: bool) -> bytes:
    """A line of a script, with the note of the old line."""
    entry = {**(json.loads(old) if old else {}), Side.EXTENSION.value: frame}
    separators = None if is_spaced else (",", ":")
    carriage = b"\r" if old.endswith(b"\r") else b""
    return json.dumps(entry, ensure_ascii=False, separators=separators).encode("utf-8", "replace") + carriage
