"""The value of `-r` and `--resume`, which may be left out: `-r 1f3c5a9e go` names a session, `-r go` does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

NAMES = ("-r", "--resume")
JOINED = "--resume="
_SHORT_ID = "[0-9a-f]{8}"
_ID = re.compile(
    rf"{_SHORT_ID}|{_SHORT_ID}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}|[0-9]{{8}}-[0-9]{{6}}-{_SHORT_ID}", re.IGNORECASE
)
_CLUSTER = re.compile("-([cpv]+)r")
"""Switches of one letter, and `-r`."""


def is_id(word: str) -> bool:
    """Whether a word can only be the id of a session: 8 hex digits, a UUID, or the name of a session file without its
    suffix."""
    return _ID.fullmatch(word) is not None


def with_value(arguments: Sequence[str], valued: Container[str]) -> list[str]:
    """The arguments, each `-r` with its value in the same word: the next word if that is an id, else nothing. `valued`
    are the flags that take the next word, whatever it is."""
    found: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*found, word, *rest]
        if cluster := _CLUSTER.fullmatch(word):
            found.append(f"-{cluster[1]}")
            word = NAMES[0]
        if word in NAMES:
            found.append(JOINED + (rest.pop(0) if rest and is_id(rest[0]) else ""))
            continue
        found.append(word)
        if word in valued and rest:
            found.append(rest.pop(0))
    return found
