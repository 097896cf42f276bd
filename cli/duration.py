"""Lengths of time as a user writes them on the command line: `30`, `1.5`, `500ms`, `90s`, `5m`, `2h`, `1h30m`."""

from __future__ import annotations

import re

ACCEPTED = "seconds (30, 1.5) or numbers with units (500ms, 90s, 5m, 2h, 1h30m, 1d)"
LONGEST_S = 100 * 365 * 86_400.0
METAVAR = "DURATION"
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_WITH_UNITS = re.compile("".join(f"(?:({_NUMBER}){unit})?" for unit in _UNITS_S))
_PLAIN = re.compile(_NUMBER)


def seconds_from(text: str) -> float:
    """The seconds that `text` means: a plain number of seconds, or numbers with the units d, h, m, s and ms, each at
    most once and the largest first. Raises ValueError, whose text says what is accepted; also for more than a hundred
    years."""
    if _PLAIN.fullmatch(text):
        seconds = float(text)
    elif text and (parts := _WITH_UNITS.fullmatch(text)):
        amounts = zip(parts.groups(), _UNITS_S.values(), strict=True)
        seconds = sum(float(number) * unit for number, unit in amounts if number)
    else:
        raise ValueError(f"{text!r} is not a length of time: write {ACCEPTED}")
    if seconds > LONGEST_S:
        raise ValueError(f"{text!r} is more than a hundred years; leave it out for no limit")
    return seconds


def limit_from(text: str) -> float:
    """The seconds of a limit: as `seconds_from`, and more than none. Raises ValueError."""
    if not (seconds := seconds_from(text)):
        raise ValueError(f"{text!r} leaves no time to run; leave it out for no limit")
    return seconds
