"""Compares a frame with the frame that a script expects. Pure.

Every expected member must be equal. An object may have further members, an array must have the same length, and null
equals a missing member, as everywhere in the protocol. `${any}` stands for any value that is present, and within a text
for any text. `${cwd}`, `${extension_dir}` and `${data_dir}` stand for the paths in the `hello_ack`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ANY = "${any}"
SHOWN = 200
"""Maximum number of characters of a value in a difference."""


@dataclass(frozen=True)
class ScriptPaths:
    """The paths that `${cwd}`, `${extension_dir}` and `${data_dir}` stand for."""

    cwd: str
    extension_dir: str
    data_dir: str

    def names(self) -> dict[str, str]:
        """Returns the path for each name."""
        return {"${cwd}": self.cwd, "${extension_dir}": self.extension_dir, "${data_dir}": self.data_dir}

    def fill(self, value: Any) -> Any:
        """Replaces the names by the paths, at any depth."""
        if isinstance(value, str):
            for name, path in self.names().items():
                value = value.replace(name, path)
            return value
        return _rebuild(value, self.fill)

    def hide(self, value: Any) -> Any:
        """Replaces the paths by the names, at any depth. Longer paths first: one may be within another."""
        if isinstance(value, str):
            for name, path in sorted(self.names().items(), key=lambda item: -len(item[1])):
                # Does not replace a part of a longer path.
                value = re.sub(rf"{re.escape(path)}(?![\w.-]*\w)", name.replace("\\", ""), value)
            return value
        return _rebuild(value, self.hide)


def _rebuild(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: change(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [change(inner) for inner in value]
    return value


class Difference(NamedTuple):
    """One difference between an expected frame and the frame of the extension."""

    path: str
    """For example `content[0].text`."""
    expected: str
    """The expected value as JSON, cut at `SHOWN` characters."""
    said: str
    """The value that the extension said, as JSON, cut; or `nothing`."""


def differences(expected: Any, said: Any) -> list[Difference]:
    """Returns all differences; empty if `said` fits `expected`."""
    return list(_compare(expected, said, ""))


def _compare(expected: Any, said: Any, path: str) -> list[Difference]:
    if expected == ANY:
        return []
    if isinstance(expected, dict) and isinstance(said, dict):
        return [
            difference
            for key, value in expected.items()
            for difference in _compare_member(value, said, key, f"{path}.{key}" if path else key)
        ]
    if isinstance(expected, list) and isinstance(said, list) and len(expected) == len(said):
        return [
            difference
            for index, (item, said_item) in enumerate(zip(expected, said, strict=True))
            for difference in _compare(item, said_item, f"{path}[{index}]")
        ]
    return [] if _is_same(expected, said) else [_difference(path, expected, said)]


def _compare_member(expected: Any, said: dict[str, Any], key: str, path: str) -> list[Difference]:
    if expected == ANY and key not in said:
        return [Difference(path, "anything", "nothing")]
    return _compare(expected, said.get(key), path)


def _is_same(expected: Any, said: Any) -> bool:
    if isinstance(expected, str) and isinstance(said, str) and ANY in expected:
        pattern = ".*".join(re.escape(part) for part in expected.split(ANY))
        return re.fullmatch(pattern, said, re.DOTALL) is not None
    if isinstance(expected, bool) or isinstance(said, bool):  # in Python, True == 1
        return expected is said
    return bool(expected == said)


def _difference(path: str, expected: Any, said: Any) -> Difference:
    if isinstance(expected, str) and isinstance(said, str):
        start = _first_difference(expected, said)
        if start > SHOWN // 2:  # cut the equal start of long texts
            expected, said = (f"…{text[start - 20 :]}" for text in (expected, said))
    return Difference(path or "the frame", compact_json(expected), "nothing" if said is None else compact_json(said))


def _first_difference(expected: str, said: str) -> int:
    pairs = zip(expected, said, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(said)))


def compact_json(value: Any, limit: int = SHOWN) -> str:
    """Returns compact JSON of at most about `limit` characters."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return text if len(text) <= limit else f"{text[: limit - 1]}… ({len(text)} characters)"
