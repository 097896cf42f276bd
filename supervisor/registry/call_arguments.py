"""Judges the arguments of a tool call: as the model wrote them, before guards and tools see them, and against the
schema of the tool. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import orjson

from supervisor.registry.plain_schema import count_values, plain_faults
from supervisor.registry.schema_rules import invalid_args
from wire.lenient_json import ARGUMENTS_DEPTH, UNREADABLE, is_deeper, read
from wire.text import one_line

if TYPE_CHECKING:
    from supervisor.registry.registration import Tool

STEPS_LIMIT = 100_000
"""Parts of the schema times values in the arguments; at worst about a twentieth of a second."""
BYTES_LIMIT = 1024 * 1024
"""Bytes of arguments that are checked in the loop."""
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


def fault_at_once(tool: Tool, args: bytes) -> str | None:
    """Returns the faults of the arguments, each with its path; "" if there are none. None if this is not plainly cheap:
    then a checker process (`checkers`) must check them. Extensions write the schemas, all others wait while the loop
    runs a check, and a schema of a few hundred bytes can ask for millions of steps."""
    if not tool.plain_parts or len(args) > BYTES_LIMIT:
        return None
    try:
        value, _ = read(args)
    except UNREADABLE:
        return ""  # the caller reports invalid JSON
    most = STEPS_LIMIT // tool.plain_parts
    if count_values(value, most) > most:
        return None
    return invalid_args(plain_faults(tool.schema, value))
