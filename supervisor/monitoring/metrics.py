"""Renders the stats of hosts as metrics with prometheus_client: Prometheus' text format, or OpenMetrics. Pure.

node_exporter's textfile collector reads the former only. The import of this file takes a tenth of a second and 14 MB,
so only a process that writes metrics imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prometheus_client.exposition import generate_latest as prometheus_text
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text
from prometheus_client.registry import Collector

from supervisor.monitoring.metric_families import (
    EXTENSION,
    HOST,
    HOST_INFO,
    HOST_UP,
    LADDER_S,
    LATENCY,
    OF_EACH,
    SCRAPE,
)
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from supervisor.monitoring.metric_families import Family
    from wire.stats import ExtensionStats, Stats

PIECE = 100
"""Maximum number of series of one piece of the text, which takes about a millisecond to make."""
UNKNOWN_KIND = "unknown"
"""The kind of a host that has never answered."""
_KINDS = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}
_END = b"# EOF\n"


class AskedHost(NamedTuple):
    """A host that was asked for its stats."""

    pid: int
    kind: str
    stats: Stats | None
    """None if it has not answered in time."""


class Scrape(NamedTuple):
    """The answers of all hosts at one time."""

    hosts: tuple[AskedHost, ...]
    seconds: float
    """Time in which the hosts were asked."""


def render(*hosts: Stats, openmetrics: bool = False) -> bytes:
    """Returns the whole text about these hosts."""
    return b"".join(pieces(hosts, openmetrics=openmetrics))


def render_scrape(scrape: Scrape, *, openmetrics: bool = False) -> bytes:
    """Returns the whole text about the hosts that have answered, which ones have, and how long that took."""
    answered = [host.stats for host in scrape.hosts if host.stats is not None]
    parts = [*_text_of(_scrape_families(scrape, answered), openmetrics=openmetrics)]
    return b"".join([*parts, *pieces(answered, openmetrics=openmetrics)])


def pieces(hosts: Sequence[Stats], *, openmetrics: bool = False) -> Iterator[bytes]:
    """The text in pieces, so that a host with many extensions can do other things in between. Each series has the
    host's pid as a label, so that hosts have no series in common; the head of each family comes once."""
    yield from _text_of(_families(hosts), openmetrics=openmetrics)
    if openmetrics:
        yield _END


class _One(Collector):
    """A collector with one family: prometheus_client renders only collectors."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)


def _text_of(families: Iterable[Iterable[Metric]], *, openmetrics: bool) -> Iterator[bytes]:
    for family in families:
        for index, part in enumerate(family):
            yield _text(part, is_first=index == 0, openmetrics=openmetrics)


def _text(part: Metric, *, is_first: bool, openmetrics: bool) -> bytes:
    render = openmetrics_text if openmetrics else prometheus_text
    text: bytes = render(_One(part))
    text = text.removesuffix(_END)
    if is_first:
        return text
    return b"".join(line + b"\n" for line in text.split(b"\n")[:-1] if not line.startswith(b"# "))


def _scrape_families(scrape: Scrape, answered: Sequence[Stats]) -> Iterator[Iterator[Metric]]:
    yield _parts(SCRAPE, (), [((), scrape.seconds)])
    up = [((str(host.pid), host.kind), float(host.stats is not None)) for host in scrape.hosts]
    yield _parts(HOST_UP, ("pid", "kind"), up)
    infos = [
        (tuple(valid_text(text) for text in (str(host.pid), host.kind, host.version, host.cwd, host.task)), 1.0)
        for host in (stats.host for stats in answered)
    ]
    yield _parts(HOST_INFO, ("pid", "kind", "version", "cwd", "task"), infos)


def _families(hosts: Sequence[Stats]) -> Iterator[Iterator[Metric]]:
    """The parts of each family. Its head belongs to the first part."""
    labelled_hosts = [((str(stats.host.pid), stats.host.kind), stats.host) for stats in hosts]
    for of_host in HOST:
        yield _parts(of_host.family, ("pid", "kind"), [(at, of_host.value(host)) for at, host in labelled_hosts])
    labelled = [
        ((valid_text(name), str(stats.host.pid)), extension)
        for stats in hosts
        for name, extension in stats.extensions.items()
    ]
    for of in EXTENSION:
        yield _parts(of.family, ("extension", "pid"), [(labels, of.value(extension)) for labels, extension in labelled])
    for each in OF_EACH:
        rows = [
            ((*labels, valid_text(name)), value)
            for labels, extension in labelled
            for name, value in each.values(extension).items()
        ]
        yield _parts(each.family, ("extension", "pid", each.label), rows)
    yield _histograms(labelled)


def _parts(
    family: Family, names: Sequence[str], rows: Sequence[tuple[Sequence[str], float | None]]
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
