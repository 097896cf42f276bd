"""Reads a score from how its command ended and from the last line of its output. Pure.

A command that did not come to its end has no score. Else the last line counts: a number is the score, and of a JSON
object the member `score`. After any other last line the exit status counts. A line that is meant as a score and is none
never becomes one: neither 1 nor 0 would be true.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.scoring.last_line import LINE_KEPT
from wire.batch.outcome import Score
from wire.lenient_json import UNREADABLE
from wire.text import counted, one_line

if TYPE_CHECKING:
    from wire.batch.outcome import CommandEnd

SCORE = "score"
VALUES_KEPT = 16 * 1024
"""Maximum size of the object in the last line, in bytes: the journal keeps it."""
DEPTH = 16
"""Maximum number of objects and lists in each other, the object itself included."""
QUOTED = 60
"""Characters of a line in a reason."""
NOT_CARRIED_OUT = range(125, 128)
"""Exit statuses of a shell, and of programs that start others, for a command that cannot be started."""
BY_SIGNAL = range(129, 129 + 64)
"""Exit statuses of a shell whose last command was ended by a signal."""
_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NO_NUMBER = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def score_of(end: CommandEnd, line: bytes, cut_short: str = "") -> Score:
    """The score. `line` is the last line of the standard output without white space around it, `cut_short` why the
    command was ended or could not be started, if so."""
    if why := cut_short or _unfinished(end.exit_status):
        return Score(None, reason=one_line(why, 500), command=end)
    values: dict[str, Any] = {}
    value: float | None
    try:
        if line.startswith(b"{"):
            values = _object(line)
            value = _number(values.pop(SCORE))
        elif _NUMBER.fullmatch(line) or _NO_NUMBER.fullmatch(line):
            value = _finite(float(line))
        else:
            value = 1.0 if end.exit_status == 0 else 0.0
    except ValueError as error:
        return Score(None, values=values, reason=f"the last line of its output {error}", command=end)
    return Score(value, values=values, command=end)


def _unfinished(exit_status: int) -> str:
    """Why a command with this exit status has not come to its end; "" if it has."""
    if exit_status in NOT_CARRIED_OUT:
        return f"exit {exit_status}: it could not be carried out"
    if exit_status in BY_SIGNAL:
        return f"killed by signal {exit_status - 128}"
    return f"killed by signal {-exit_status}" if exit_status < 0 else ""


def _object(line: bytes) -> dict[str, Any]:
    """Raises `ValueError`."""
    if len(line) > min(VALUES_KEPT, LINE_KEPT):
        raise ValueError(f"has more than {VALUES_KEPT >> 10} KiB")
    try:
        found = msgspec.json.decode(line)
    except UNREADABLE as error:
        raise ValueError(f"begins with {{ and is not JSON: {error}") from None
    if _is_deeper(found, DEPTH):
        raise ValueError(f"has more than {counted(DEPTH, 'list')} and objects in each other")
    if SCORE not in found:
        raise ValueError(f"is a JSON object without {SCORE!r}")
    assert isinstance(found, dict)
    return found


def _is_deeper(value: Any, most: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (most == 0 or any(_is_deeper(each, most - 1) for each in value))


def _number(value: Any) -> float:
    """Raises `ValueError`."""
    if not isinstance(value, int | float):
        raise ValueError(f"has no number as {SCORE!r}: {one_line(msgspec.json.encode(value).decode(), QUOTED)}")
    try:
        return _finite(float(value))
    except OverflowError:
        return _finite(math.inf)


def _finite(value: float) -> float:
    """Raises `ValueError`."""
    if not math.isfinite(value):
        raise ValueError(f"is no finite number: {value}")
    return value
