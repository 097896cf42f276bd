"""What to say of a name that nobody has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

NAMES_SHOWN = 20


def no_such(what: str, name: str, known: Collection[str]) -> str:
    """One line with the names that are near, or else with those that there are."""
    said = f"no such {what}: {name[:80]!r}"
    if not known:
        return f"{said}; there is none"
    if near := get_close_matches(name, known, n=3):
        return f"{said}; did you mean {' or '.join(map(repr, near))}?"
    names = sorted(known)
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{said}; there {'is' if len(names) == 1 else 'are'} {', '.join(names[:NAMES_SHOWN])}{more}"
