"""Finds and shows the differences of two JSON values. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXT = 30
"""Characters that are shown before the first difference of two long texts; twice as many are shown after it."""


class _Absent:
    pass


ABSENT = _Absent()


class CassetteDifference(msgspec.Struct, frozen=True):
    """One difference between a recorded request and the request of this run. `ABSENT` stands for a missing value."""

    path: str
    """The place of the difference, such as `messages[2].content[0].text`; empty if the whole values differ."""
    recorded: Any
    asked: Any

    def __str__(self) -> str:
        recorded, asked = _shown(self.recorded, self.asked)
        return f"{self.path or 'the request'}\n  recorded: {recorded}\n  asked:    {asked}"


def differences(recorded: Any, asked: Any, path: str = "") -> Iterator[CassetteDifference]:
    """The innermost differences, in the order of the recorded value. Lists are compared index by index."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in dict.fromkeys([*recorded, *asked]):
            inner = f"{path}.{key}" if path else key
            yield from differences(recorded.get(key, ABSENT), asked.get(key, ABSENT), inner)
    elif isinstance(recorded, list) and isinstance(asked, list):
        for index in range(max(len(recorded), len(asked))):
            left = recorded[index] if index < len(recorded) else ABSENT
            right = asked[index] if index < len(asked) else ABSENT
            yield from differences(left, right, f"{path}[{index}]")
    elif type(recorded) is not type(asked) or recorded != asked:
        yield CassetteDifference(path, recorded, asked)


def _shown(recorded: Any, asked: Any) -> tuple[str, str]:
    if not (isinstance(recorded, str) and isinstance(asked, str)):
        return _short(recorded), _short(asked)
    pairs = zip(recorded, asked, strict=False)
    same = next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(recorded), len(asked)))
    return _around(recorded, same), _around(asked, same)


def _short(value: Any) -> str:
    if value is ABSENT:
        return "(nothing)"
    return _around(value, 0) if isinstance(value, str) else _cut(json.dumps(value, ensure_ascii=False))


def _around(text: str, position: int) -> str:
    start = max(0, position - CONTEXT)
    end = position + 2 * CONTEXT
    quoted = json.dumps(text[start:end], ensure_ascii=False)
    return f"{'…' if start else ''}{quoted}{'…' if end < len(text) else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= 3 * CONTEXT else text[: 3 * CONTEXT] + "…"
