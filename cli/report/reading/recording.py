"""What a report is drawn from, whichever file it came from."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from wire.events import Cost
    from wire.stats import ExtensionStats

ABSENT = float("nan")
"""In a track: the extension was not there at this sample."""


GOOD_STOPS = frozenset({"", "end_turn", "tool_use", "length"})
"""What is said of a turn that ended as turns do; of others it is the error, or `aborted`."""


class Source(Enum):
    STATS = "stats"
    """Samples and marks with times: everything can be drawn."""
    EVENTS = "events"
    """A run's `--json` stream: order without times, and totals at the end."""


class InputError(ValueError):
    """The file cannot be used; the text names it, the line where there is one, and what to do."""


@dataclass(frozen=True)
class Figures:
    """One extension at the end of what was recorded: gauges of then, counters of the whole run. None: not known."""

    name: str
    state: str = "unknown"
    failure: str = ""
    exit_status: str | None = None
    cpu_s: float = 0.0
    rss_peak_bytes: int = 0
    processes: int | None = None
    frames_in: int = 0
    frames_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    calls: int = 0
    errors: int = 0
    timeouts: int = 0
    blocks: int = 0
    limit_breaches: int | None = None
    lost: int = 0
    """Events and notes that it did not get or that were not kept."""
    junk_lines: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    latency_ms: tuple[tuple[float, int], ...] = ()
    """Upper ends of buckets, and how many answers fell into each; ascending."""
    restarts: int = 0
    exits: int = 0


COUNTED_ALIKE = (
    "state", "exit_status", "rss_peak_bytes", "frames_in", "frames_out", "bytes_in", "bytes_out", "calls", "errors",
    "timeouts", "blocks", "junk_lines", "p50_ms", "p99_ms", "restarts", "exits",
)  # fmt: skip
"""Fields of `Figures` that a result record and a sample call by the same name."""


def figures_of(name: str, counted: Cost | ExtensionStats, **others: Any) -> Figures:
    lost = counted.events_dropped + counted.notes_dropped
    return Figures(name, lost=lost, **{field: getattr(counted, field) for field in COUNTED_ALIKE}, **others)


class Happening(msgspec.Struct, frozen=True, gc=False):
    """One mark of the timeline. Positions are seconds since the start, or places in the order of events."""

    begin: float
    end: float | None
    kind: str
    """One of wire.stats.Mark's kinds, or `error` of the run itself."""
    name: str = ""
    extension: str = ""
    detail: str = ""
    bad: bool = False
    """A call that failed, an intercept that was blocked."""


@dataclass(frozen=True)
class Track:
    """What one process tree used at each sample; `ABSENT` where it was not there."""

    cpu_percent: array[float]
    rss_bytes: array[float]


@dataclass(frozen=True)
class Recording:
    source: Source
    title: str
    """What ran, in a few words."""
    facts: tuple[tuple[str, str], ...]
    """Label and value of what else there is to say about the run."""
    started: float | None
    """Seconds since the epoch of position 0."""
    end: float
    """Position at which the recording ends; it begins at 0."""
    duration_s: float | None
    figures: tuple[Figures, ...]
    happenings: tuple[Happening, ...]
    """In order of their beginning."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the file: cut off, clock jumps, what is missing."""
    times: array[float] = field(default_factory=lambda: array("d"))
    """Of the samples, ascending."""
    tracks: dict[str, Track] = field(default_factory=dict)
    host: Track | None = None
    total: Track | None = None
    """Of all extensions together."""
    order_ticks: tuple[tuple[float, str], ...] = ()
    """Where there are no times: what the axis says instead."""
