"""One check of `zot doctor`, and one finding of `zot ext doctor` about an extension. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.lenient_json import Place

SLOW_S = 2.0
"""Seconds from the start of the process to ready. A run delays its first request until extensions are ready."""
FAULTS_NAMED = 3
"""The most faults of one kind that are named; the others are counted."""


class Level(Enum):
    OK = "ok"
    WARN = "warn"
    """The part works, but with less than is possible."""
    FAIL = "fail"


class Check(NamedTuple):
    """The outcome of one check. `advice` says what to do; it may be empty."""

    name: str
    level: Level
    message: str
    advice: str = ""
    host: int | None = None
    """Pid of the host that it is about."""
    extension: str = ""
    """Name of the extension of that host that it is about."""
    kind: str = ""
    """The kind of its alarm, or `not_started`."""
    since: float | None = None
    """In seconds since the epoch, if that is known."""


class DoctorFinding(NamedTuple):
    """One finding about an extension. `advice` says what to do; it may be empty."""

    level: Level
    topic: str
    message: str
    advice: str = ""
    rule: str = ""
    """The rule of the diagnosis that gave the advice: a short name for programs."""
    place: Place | None = None
    """Where in the manifest the fault is."""
    lines: tuple[str, ...] = ()
    """Lines that are shown below, as they are: the faulty line of the manifest, or the last lines of stderr."""


def worst(findings: Sequence[DoctorFinding]) -> Level:
    """The worst level of the findings; OK without findings."""
    order = list(Level)
    return max((finding.level for finding in findings), key=order.index, default=Level.OK)


def some(texts: Sequence[str]) -> str:
    """The first of these texts; how many there are besides."""
    more = f" and {len(texts) - FAULTS_NAMED} more" if len(texts) > FAULTS_NAMED else ""
    return "; ".join(dict.fromkeys(texts[:FAULTS_NAMED])) + more
