"""How the faults of a tool's arguments, and of its schema, are put into words. Pure; also for the checker process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

FAULTS_NAMED = 5
FAULT_LENGTH = 200
"""Characters of one fault. Of a longer one the middle is cut: it begins with the value and ends with what is wrong."""

Place = tuple["Place", str | int] | None
"""A place in a value: the place around it, and a name or an index. None for the value itself."""


def steps(place: Place) -> list[str]:
    """The names and indexes that lead to a place."""
    found: list[str] = []
    while place is not None:
        place, step = place
        found.append(str(step))
    return found[::-1]


def quoted(value: Any) -> str:
    """The value as JSON."""
    return msgspec.json.encode(value).decode()


def short(message: str) -> str:
    if len(message) > FAULT_LENGTH:
        message = f"{message[: FAULT_LENGTH // 2]} … {message[-FAULT_LENGTH // 2 :]}"
    return one_line(message, FAULT_LENGTH + 3)


def invalid_args(faults: Iterable[tuple[Iterable[str | int], str]]) -> str:
    """The faults of some arguments, each with its path, in one line; "" if there are none."""
    told = [f"{short(''.join(f'/{step}' for step in path)) or '/'}: {short(message)}" for path, message in faults]
    return "invalid args: " + "; ".join(told) if told else ""
