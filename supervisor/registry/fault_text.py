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

Location = tuple["Location", str | int] | None
"""Where a value lies in another one: the location of what contains it, and its name or index there. None for the
outermost value."""


def path_to(location: Location) -> list[str]:
    """The names and indexes that lead to a location."""
    found: list[str] = []
    while location is not None:
        location, step = location
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
