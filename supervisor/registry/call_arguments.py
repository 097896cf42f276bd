"""Judges the arguments of a tool call as the model wrote them, before guards and tools see them. Pure."""

from __future__ import annotations

import json

import orjson

from wire.lenient_json import ARGUMENTS_DEPTH, is_deeper
from wire.text import one_line

QUOTED = 80
"""Bytes or characters that a reason quotes."""


def unfit(args: bytes) -> str | None:
    """Why no tool can take these arguments; None if they are one JSON object that all readers understand alike.

    A repeated name is refused, because some readers take the first value and others the last: a guard would judge
    another command than the shell runs.
    """
    try:
        value = orjson.loads(args)
    except orjson.JSONDecodeError as error:
        return f"invalid args: not valid JSON: {error}"
    if not isinstance(value, dict):
        return f"invalid args: must be a JSON object, not {args[:QUOTED].decode('utf-8', 'replace')}"
    try:
        if is_deeper(value, ARGUMENTS_DEPTH):
            raise RecursionError
        json.loads(args, object_pairs_hook=_unique)
    except RecursionError:  # also in a value that `value` does not have, since its name occurs again
        return f"invalid args: nested deeper than {ARGUMENTS_DEPTH} levels"
    except _RepeatedNameError as repeated:
        return f"invalid args: the name {repeated.name} occurs twice in one object"
    return None


class _RepeatedNameError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = json.dumps(one_line(name, QUOTED), ensure_ascii=False)


def _unique(pairs: list[tuple[str, object]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) == len(pairs):
        return
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _RepeatedNameError(name)
        seen.add(name)
