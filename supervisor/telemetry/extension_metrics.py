"""The metrics of a host and its extensions, by the conventions for processes of OpenTelemetry 1.45. Pure.

The figures of an extension are of all its processes together, and have its name; those of the host itself have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.stats import Stats

NAME = "zot.extension.name"
Values = tuple[tuple[float, str], ...]
"""The values of one metric, each with the name of its extension; empty for the host itself."""


class Metric(NamedTuple):
    """One instrument. `values` returns each value with its attributes."""

    name: str
    instrument: Literal["counter", "up_down_counter", "gauge"]
    unit: str
    description: str
    values: Callable[[Stats], Values]


class Figures(msgspec.Struct, frozen=True, tag_field="type", tag="figures"):
    """A line with the values of all metrics at one moment, in the order of `METRICS`."""

    values: tuple[Values, ...]


def figures_of(stats: Stats) -> Figures:
    """The values of all metrics."""
    return Figures(tuple(metric.values(stats) for metric in METRICS))


def _of(extension: str, host: str = "") -> Callable[[Stats], Values]:
    """Returns the values of this field of each extension, and of this field of the host. Unknown ones are left out."""

    def values(stats: Stats) -> Values:
        found: list[tuple[Any, str]] = [(getattr(each, extension), name) for name, each in stats.extensions.items()]
        if host:
            found.append((getattr(stats.host, host), ""))
        return tuple((value, name) for value, name in found if value is not None)

    return values


METRICS = (
    Metric("process.cpu.time", "counter", "s", "CPU seconds, with those of ended processes.", _of("cpu_s", "cpu_s")),
    Metric("process.memory.usage", "up_down_counter", "By", "Resident memory.", _of("rss_bytes", "rss_bytes")),
    Metric("process.thread.count", "up_down_counter", "{thread}", "Threads.", _of("threads")),
    Metric(
        "process.unix.file_descriptor.count", "up_down_counter", "{file_descriptor}", "Open file descriptors.",
        _of("open_files", "open_files"),
    ),
    Metric("process.uptime", "gauge", "s", "Seconds since its start.", _of("uptime_s", "uptime_s")),
    Metric("zot.extension.processes", "up_down_counter", "{process}", "Processes that run.", _of("processes")),
    Metric("zot.extension.calls", "counter", "{call}", "Calls, commands and questions to guards.", _of("calls")),
    Metric("zot.extension.errors", "counter", "{error}", "Calls that failed.", _of("errors")),
    Metric("zot.extension.timeouts", "counter", "{call}", "Calls without an answer in time.", _of("timeouts")),
    Metric("zot.extension.pending", "up_down_counter", "{call}", "Calls that wait for an answer.", _of("pending")),
    Metric("zot.extension.blocks", "counter", "{block}", "Events that it blocked as a guard.", _of("blocks")),
    Metric("zot.extension.restarts", "counter", "{restart}", "Restarts after an end.", _of("restarts")),
    Metric("zot.extension.exits", "counter", "{exit}", "Ends that nobody asked for.", _of("unexpected_exits")),
)  # fmt: skip
