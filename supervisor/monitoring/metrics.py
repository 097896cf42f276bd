"""Renders stats as metrics with prometheus_client: Prometheus' text format, or OpenMetrics. Pure, except `MetricsFile`,
which writes them.

node_exporter's textfile collector reads the former only. The import of this file takes a tenth of a second and 14 MB,
so only a host that writes metrics imports it, once, before it serves.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client.exposition import generate_latest as prometheus_text
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text
from prometheus_client.registry import Collector

from supervisor.home.safe_files import replacement
from supervisor.monitoring.rotated_file import StatsFileError
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from supervisor.loop.loop import Loop, Timer
    from wire.stats import ExtensionStats, HostStats, Stats

LADDER_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
"""Upper ends of the published buckets in seconds, the same for all extensions, so that buckets can be added up. The
account's own buckets are finer: their ends differ by at most a tenth."""
PIECE = 100
"""Maximum number of series of one piece of the text, which takes about a millisecond to make."""


class _Family(NamedTuple):
    name: str
    kind: str
    unit: str
    help: str


class _OfExtension(NamedTuple):
    family: _Family
    value: Callable[[ExtensionStats], float | None]


class _OfHost(NamedTuple):
    family: _Family
    value: Callable[[HostStats], float | None]


def _extension(
    name: str, kind: str, unit: str, help_: str, value: Callable[[ExtensionStats], float | None]
) -> _OfExtension:
    return _OfExtension(_Family(f"zot_extension_{name}", kind, unit, help_), value)


def _host(name: str, kind: str, unit: str, help_: str, value: Callable[[HostStats], float | None]) -> _OfHost:
    return _OfHost(_Family(f"zot_host_{name}", kind, unit, help_), value)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


HOST = (
    _host("uptime_seconds", "gauge", "seconds", "Since the host started.", lambda host: host.uptime_s),
    _host("start_time_seconds", "gauge", "seconds", "Since the epoch.", lambda host: host.started),
    _host("cpu_seconds", "counter", "seconds", "Processor time of the host itself.", lambda host: host.cpu_s),
    _host(
        "sampling_cpu_seconds",
        "counter",
        "seconds",
        "Processor time for sampling processes.",
        lambda host: host.sampling_cpu_s,
    ),
    _host("resident_memory_bytes", "gauge", "bytes", "Of the host itself.", lambda host: host.rss_bytes),
    _host("open_files", "gauge", "", "Descriptors of the host itself.", lambda host: host.open_files),
    _host("wakeups", "counter", "", "Turns of the host's loop.", lambda host: host.wakeups),
    _host("attached_runs", "gauge", "", "Runs that are attached to the host.", lambda host: host.attached_runs),
)
EXTENSION = (
    _extension(
        "up",
        "gauge",
        "",
        "1 if it accepts requests.",
        lambda ext: ext.state in ("ready", "greeted", "reloading", "asleep", "waking"),
    ),
    _extension("cpu_seconds", "counter", "seconds", "Of all its processes so far.", lambda ext: ext.cpu_s),
    _extension("resident_memory_bytes", "gauge", "bytes", "Of its process trees.", lambda ext: ext.rss_bytes),
    _extension(
        "resident_memory_peak_bytes", "gauge", "bytes", "The highest seen so far.", lambda ext: ext.rss_peak_bytes
    ),
    _extension("processes", "gauge", "", "In its trees.", lambda ext: ext.processes),
    _extension("threads", "gauge", "", "In its trees.", lambda ext: ext.threads),
    _extension("open_files", "gauge", "", "Descriptors in its trees.", lambda ext: ext.open_files),
    _extension("tools", "gauge", "", "Tools that it has registered.", lambda ext: ext.tools or 0),
    _extension(
        "definition_tokens",
        "gauge",
        "",
        "About the tokens of their definitions, in each request to the model.",
        lambda ext: ext.definition_tokens or 0,
    ),
    _extension("pending_calls", "gauge", "", "Requests that wait for an answer.", lambda ext: ext.pending),
    _extension("received_frames", "counter", "", "Frames that it sent.", lambda ext: ext.frames_in),
    _extension("sent_frames", "counter", "", "Frames sent to it.", lambda ext: ext.frames_out),
    _extension("received_bytes", "counter", "bytes", "Bytes that it sent.", lambda ext: ext.bytes_in),
    _extension("sent_bytes", "counter", "bytes", "Bytes sent to it.", lambda ext: ext.bytes_out),
    _extension("calls", "counter", "", "Requests for an answer.", lambda ext: ext.calls),
    _extension("calls_made", "counter", "", "Calls of tools made through the host.", lambda ext: ext.calls_made),
    _extension("errors", "counter", "", "Requests that failed.", lambda ext: ext.errors),
    _extension("timeouts", "counter", "", "Requests without an answer in time.", lambda ext: ext.timeouts),
    _extension("blocks", "counter", "", "Verdicts by which it blocked something.", lambda ext: ext.blocks),
    _extension("exits", "counter", "", "Processes of it that have ended.", lambda ext: ext.exits),
    _extension(
        "unexpected_exits",
        "counter",
        "",
        "Of these, exits that the host had not asked for.",
        lambda ext: ext.unexpected_exits,
    ),
    _extension("restarts", "counter", "", "Times that it was restarted.", lambda ext: ext.restarts),
    _extension("limit_breaches", "counter", "", "Times that a limit was enforced.", lambda ext: ext.limit_breaches),
    _extension("dropped_events", "counter", "", "Events that it missed.", lambda ext: ext.events_dropped),
    _extension("dropped_notes", "counter", "", "Notes that were not shown.", lambda ext: ext.notes_dropped),
    _extension("dropped_answers", "counter", "", "Answers that came too late.", lambda ext: ext.answers_dropped),
    _extension(
        "attached_sessions",
        "gauge",
        "",
        "Sessions of runs that use it now.",
        lambda ext: None if ext.mode is None else ext.attached,
    ),
    _extension(
        "share_cpu_seconds",
        "counter",
        "seconds",
        "This run's share of a host's process, by busy time.",
        lambda ext: None if ext.hosted is None else _seconds(ext.hosted.cpu_share_ms),
    ),
    _extension("junk_lines", "counter", "", "Lines that were no frames.", lambda ext: ext.junk_lines),
)
LATENCY = _Family("zot_extension_answer_seconds", "histogram", "seconds", "Time to answer.")
STATE = _Family("zot_extension_state", "gauge", "", "1 for the state that it is in.")
_KINDS = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}
_END = b"# EOF\n"


def render(stats: Stats, *, openmetrics: bool = False) -> bytes:
    """Returns the whole text."""
    return b"".join(pieces(stats, openmetrics=openmetrics))


def pieces(stats: Stats, *, openmetrics: bool = False) -> Iterator[bytes]:
    """The text in pieces, so that a host with many extensions can do other things in between. Each series has the
    host's pid as a label, so that the files of two hosts can be collected together."""
    for family in _families(stats):
        for index, part in enumerate(family):
            yield _text(part, is_first=index == 0, openmetrics=openmetrics)
    if openmetrics:
        yield _END


class _One(Collector):
    """A collector with one family: prometheus_client renders only collectors."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)


def _text(part: Metric, *, is_first: bool, openmetrics: bool) -> bytes:
    render = openmetrics_text if openmetrics else prometheus_text
    text: bytes = render(_One(part))
    text = text.removesuffix(_END)
    if is_first:
        return text
    return b"".join(line + b"\n" for line in text.split(b"\n")[:-1] if not line.startswith(b"# "))


def _families(stats: Stats) -> Iterator[Iterator[Metric]]:
    """The parts of each family. Its head belongs to the first part."""
    pid = str(stats.host.pid)
    for of_host in HOST:
        rows = [((pid, stats.host.kind), of_host.value(stats.host))]
        yield _parts(of_host.family, ("pid", "kind"), rows)
    labelled = [((valid_text(name), pid), extension) for name, extension in stats.extensions.items()]
    for of in EXTENSION:
        yield _parts(of.family, ("extension", "pid"), [(labels, of.value(extension)) for labels, extension in labelled])
    states = [((*labels, extension.state), 1) for labels, extension in labelled]
    yield _parts(STATE, ("extension", "pid", "state"), states)
    yield _histograms(labelled)


def _parts(
    family: _Family, names: Sequence[str], rows: Sequence[tuple[Sequence[str], float | None]]
) -> Iterator[Metric]:
    for start in range(0, max(1, len(rows)), PIECE):
        part = _KINDS[family.kind](family.name, family.help, labels=names, unit=family.unit)
        for labels, value in rows[start : start + PIECE]:
            if value is not None:
                part.add_metric(labels, value)
        yield part


def _histograms(labelled: Sequence[tuple[Sequence[str], ExtensionStats]]) -> Iterator[Metric]:
    at_once = max(1, PIECE // (len(LADDER_S) + 3))
    for start in range(0, max(1, len(labelled)), at_once):
        part = HistogramMetricFamily(LATENCY.name, LATENCY.help, labels=("extension", "pid"), unit=LATENCY.unit)
        for labels, extension in labelled[start : start + at_once]:
            part.add_metric(labels, _buckets(extension), (extension.latency_sum_ms or 0.0) / 1000)
        yield part


def _buckets(extension: ExtensionStats) -> list[tuple[str, float]]:
    """The upper end in seconds, as a text, and the number of answers up to it."""
    counted, below = 0, []
    buckets = iter(extension.latency_ms)
    bucket = next(buckets, None)
    for end in LADDER_S:
        while bucket is not None and bucket[0] <= end * 1000:
            counted += bucket[1]
            bucket = next(buckets, None)
        below.append((str(float(end)), float(counted)))
    total = sum(number for _, number in extension.latency_ms)
    return [*below, ("+Inf", float(total))]


MODE = 0o644
"""Mode of the file, with any umask: the collector is usually another user."""
BETWEEN_PIECES_S = 0.005
"""Seconds between two pieces, for the host's other work."""


class MetricsFile:
    """A file that is replaced by each write, so that a collector sees either the whole old file or the whole new one.
    `on_error` gets a line for the user. Raises `StatsFileError` if the file cannot be written the first time."""

    def __init__(
        self, loop: Loop, path: Path, first: Stats, *, openmetrics: bool, on_error: Callable[[str], None]
    ) -> None:
        self._loop = loop
        self._path = path
        self._openmetrics = openmetrics
        self._on_error = on_error
        self._pieces: Iterator[bytes] = iter(())
        self._made: list[bytes] = []
        self._spent_s = 0.0
        self._timer: Timer | None = None
        self.cost_s = 0.0
        """Processor seconds of the last whole write."""
        try:
            self._replace(render(first, openmetrics=openmetrics))
        except OSError as error:
            raise StatsFileError(f"--metrics {path}: {error.strerror}") from None

    @property
    def is_busy(self) -> bool:
        """Whether a write is under way."""
        return self._timer is not None

    def begin(self, stats: Stats) -> None:
        """Begins to write these figures; does nothing while a write is under way."""
        if not self.is_busy:
            self._pieces = pieces(stats, openmetrics=self._openmetrics)
            self._made = []
            self._spent_s = 0.0
            self._make_piece()

    def write(self, stats: Stats) -> None:
        """Writes these figures now, and cancels a write that is under way."""
        self._cancel()
        self._put(render(stats, openmetrics=self._openmetrics))

    def _make_piece(self) -> None:
        began = time.process_time()
        self._timer = None
        piece = next(self._pieces, None)
        if piece is None:
            self._put(b"".join(self._made))
            self.cost_s = self._spent_s + time.process_time() - began
            return
        self._made.append(piece)
        self._spent_s += time.process_time() - began
        self._timer = self._loop.call_later(BETWEEN_PIECES_S, self._make_piece)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _put(self, text: bytes) -> None:
        try:
            self._replace(text)
        except OSError as error:
            self._on_error(f"cannot write {self._path}: {error.strerror}")

    def _replace(self, text: bytes) -> None:
        """Renames a new file to the path. A symlink stays and leads to the new file. Raises `OSError`, also for a
        device or a pipe, which must not be replaced."""
        path = Path(os.path.realpath(self._path))
        if path.exists() and not path.is_file():
            raise OSError(0, "not a regular file, and metrics are written by replacing the file")
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
        with replacement(path, is_durable=False, sibling=unfinished) as file:
            os.fchmod(file.fileno(), MODE)
            file.write(text)
