"""The data of a report, in the same form for both kinds of file."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from cli.number_format import count_text, dollars, plural

if TYPE_CHECKING:
    from wire.events import Cost, HostedShare, Totals
    from wire.stats import ExtensionStats

ABSENT = float("nan")
"""The value in a track for a sample at which the extension did not run."""
GOOD_STOPS = frozenset({"", "end_turn", "tool_use", "length"})
"""The stop reasons of turns that ended well. Other reasons are errors, or `aborted`."""


class SourceKind(Enum):
    STATS = "stats"
    """Samples and marks with times: everything can be drawn."""
    EVENTS = "events"
    """A run's `--json` stream: order without times, and totals at the end."""


class InputError(ValueError):
    """The file cannot be used. The text names it, the faulty line if there is one, and what to do."""


@dataclass(frozen=True)
class ExtensionFigures:
    """The figures of one extension: gauges at the end of the recording, counters of the whole run. None: unknown."""

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
    """The number of events that did not reach the extension and of its notes that were dropped."""
    junk_lines: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    latency_ms: tuple[tuple[float, int], ...] = ()
    """The upper end of each bucket in milliseconds, and its count of answers; ascending."""
    restarts: int = 0
    exits: int = 0
    """Count of ended processes, orderly stops included."""
    unexpected_exits: int | None = None
    """Exits without a request; None in recordings of older versions."""
    exits_by_host: int | None = None
    """Count of those `unexpected_exits` that the host decided on; None in recordings of older versions."""
    definition_tokens: int | None = None
    """Estimated tokens of the definitions of its tools; None if not recorded."""
    model_tokens: int | None = None
    """Tokens of its tools' definitions and results in all requests to the model; None if none was made or recorded."""
    model_usd: float | None = None
    """US dollars of these; None if unknown."""
    start_waits: int = 0
    """Count of starts that requests waited for, because the extension starts when it is needed."""
    start_wait_s: float = 0.0
    in_client: bool = False
    """Whether it runs in the client program: its CPU time and memory are that program's, and unknown."""
    hosted: HostedShare | None = None
    """The run's share of it if its process is a host's."""
    no_verdicts: int = 0
    """Number of verdicts that it did not give, by the marks of a trace."""
    leak: str = ""
    """How its memory only grows, by the marks of a trace."""
    is_counted: bool = True
    """Whether the recording has its figures. If not, only what the marks tell is known, and 0 of anything is not."""

    @property
    def has_processes(self) -> bool:
        """Whether its processes are the run's own, and so its CPU time and memory."""
        return not self.in_client and self.hosted is None


COUNTED_ALIKE = (
    "state", "exit_status", "rss_peak_bytes", "frames_in", "frames_out", "bytes_in", "bytes_out", "calls", "errors",
    "timeouts", "blocks", "junk_lines", "p50_ms", "p99_ms", "restarts", "exits", "unexpected_exits",
    "exits_by_host", "start_waits", "start_wait_s", "model_tokens", "model_usd",
)  # fmt: skip
"""Fields with the same name in `ExtensionFigures`, in a result record and in a sample."""


def figures_of(name: str, counted: Cost | ExtensionStats, **others: Any) -> ExtensionFigures:
    lost = counted.events_dropped + counted.notes_dropped
    hosted = counted.hosted or None  # absent in a result record, null in a sample
    return ExtensionFigures(
        name, lost=lost, hosted=hosted, **{field: getattr(counted, field) for field in COUNTED_ALIKE}, **others
    )


def agent_facts(
    model: str, provider: str, ended: tuple[str, int, str] | None, turns: int, tokens: Totals, cost_usd: float | None
) -> list[tuple[str, str]]:
    """Labels and values of the facts about a run's agent. `ended` is its status, exit code and reason; None if the
    recording ends before the run."""
    outcome = "unknown: the recording ends before the run" if ended is None else f"{ended[0]} (exit {ended[1]})"
    if ended is not None and ended[2]:
        outcome += f": {ended[2]}"
    cached = f", {count_text(tokens.cache_read)} of them from the cache" if tokens.cache_read else ""
    read = tokens.input + tokens.cache_read + tokens.cache_write
    use = f"{plural(turns, 'turn')}, {plural(read, 'token')} read{cached}, {count_text(tokens.output)} written"
    use += f", {dollars(cost_usd)}"
    return [("model", f"{model} ({provider})" if model else ""), ("outcome", outcome), ("model use", use)]


class Happening(msgspec.Struct, frozen=True, gc=False):
    """Something on the timeline. Positions are seconds since the start, or numbers in the order of events."""

    begin: float
    end: float | None
    kind: str
    """One of wire.stats.Mark's kinds, or `error` of the run itself."""
    name: str = ""
    extension: str = ""
    detail: str = ""
    bad: bool = False
    """Whether a call failed, an intercept was blocked, or a turn did not end well."""


@dataclass(frozen=True)
class Track:
    """The use of one process tree at each sample; `ABSENT` where it did not run."""

    cpu_percent: array[float]
    rss_bytes: array[float]


@dataclass(frozen=True)
class RecordedRun:
    source: SourceKind
    title: str
    """The kind of the run in a few words, such as `A run of zot`."""
    facts: tuple[tuple[str, str], ...]
    """Labels and values of other facts about the run."""
    started: float | None
    """The time of position 0, in seconds since the epoch."""
    end: float
    """The position of the end; the recording begins at 0."""
    duration_s: float | None
    """Seconds of the run; None if unknown."""
    figures: tuple[ExtensionFigures, ...]
    happenings: tuple[Happening, ...]
    """In order of their beginning."""
    notes: tuple[str, ...] = ()
    """Warnings for the reader: the file is cut off, the clock jumped, something is missing."""
    times: array[float] = field(default_factory=lambda: array("d"))
    """Positions of the samples, ascending."""
    spans_s: tuple[float, ...] = ()
    """The seconds before each sample in which its CPU was used."""
    tracks: dict[str, Track] = field(default_factory=dict)
    host: Track | None = None
    total: Track | None = None
    """The use of all extensions together."""
    order_ticks: tuple[tuple[float, str], ...] = ()
    """The positions and labels of the axis, for a recording without times."""
    is_counted: bool = True
    """Whether it has figures of the extensions. If not, there may be extensions of which nothing is told."""
    goes_beyond: bool = False
    """Whether the run goes on after the end of the recording: `duration_s` is the least that it has lasted."""
