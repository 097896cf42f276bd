"""The standard's variables that decide whether, where and how telemetry is exported. Pure.

The process that exports reads the others itself, such as `OTEL_EXPORTER_OTLP_ENDPOINT` and `OTEL_BSP_MAX_QUEUE_SIZE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from supervisor.telemetry.sampler import Sampler, read_sampler
from wire.text import one_line
from wire.trace_context import TraceContext, read_context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Signal = Literal["traces", "metrics"]
Way = Literal["http", "grpc", "console", "none"]
"""http: OTLP as protobuf over HTTP; grpc: OTLP over gRPC; console: JSON lines on standard error; none: not at all."""
GRPC = "opentelemetry.exporter.otlp.proto.grpc"
"""The module of the package for gRPC, which the extra does not install."""
INTERVAL_S = 60.0
"""Default of `OTEL_METRIC_EXPORT_INTERVAL`, as the standard says."""
SHORTEST_S, LONGEST_S = 0.1, 86_400.0
"""Bounds of an interval: what is beyond them would keep a host busy, or no timer can wait for it."""
SHOWN = 40
"""Maximum number of characters of a value in a message."""


class Settings(msgspec.Struct, frozen=True):
    """The values of the variables."""

    traces: Way
    metrics: Way
    sampler: Sampler
    outside: TraceContext | None
    """The context in which this process was started; None without one."""
    metrics_s: float
    """Seconds between two exports of metrics."""
    remarks: tuple[str, ...]
    """A line about each value that is not used."""

    @property
    def exports(self) -> bool:
        return (self.traces, self.metrics) != ("none", "none")


def read_settings(environ: Mapping[str, str], has_module: Callable[[str], bool]) -> Settings | None:
    """Reads the variables; None if `OTEL_SDK_DISABLED` turns all off. `has_module` tells whether a module is
    installed."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    remarks: list[str] = []
    sampler, remark = read_sampler(environ.get("OTEL_TRACES_SAMPLER", ""), environ.get("OTEL_TRACES_SAMPLER_ARG", ""))
    remarks.append(one_line(remark, 200))
    traces, metrics = (_way(signal, environ, has_module, remarks) for signal in ("TRACES", "METRICS"))
    outside = read_context(environ.get("TRACEPARENT", ""), environ.get("TRACESTATE", ""))
    interval_s = _interval_s(environ.get("OTEL_METRIC_EXPORT_INTERVAL", ""), remarks)
    said = tuple(dict.fromkeys(filter(None, remarks)))
    return Settings(traces, metrics, sampler, sampler.judge_outside(outside), interval_s, said)


def _way(signal: str, environ: Mapping[str, str], has_module: Callable[[str], bool], remarks: list[str]) -> Way:
    variable = f"OTEL_{signal}_EXPORTER"
    exporter = environ.get(variable, "").strip().lower() or "otlp"
    if exporter in ("none", "console"):
        return "none" if exporter == "none" else "console"
    if exporter != "otlp":
        remarks.append(f"{variable}={one_line(exporter, SHOWN)} is unknown (otlp, console and none are); otlp is used")
    variable = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"
    if not environ.get(variable, "").strip():
        variable = "OTEL_EXPORTER_OTLP_PROTOCOL"
    protocol = environ.get(variable, "").strip().lower() or "http/protobuf"
    if protocol == "grpc":
        if has_module(GRPC):
            return "grpc"
        package = "opentelemetry-exporter-otlp-proto-grpc"
        remarks.append(f"{variable}=grpc needs pip install {package}; nothing is exported over it")
        return "none"
    if protocol != "http/protobuf":
        remarks.append(f"{variable}={one_line(protocol, SHOWN)} is not supported; http/protobuf is used")
    return _way_to_address(signal, environ, remarks)


def _way_to_address(signal: str, environ: Mapping[str, str], remarks: list[str]) -> Way:
    """The remark does not show the value: it may hold a password."""
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        if value := environ.get(variable, "").strip():
            if is_http_address(value):
                return "http"
            remarks.append(f"{variable} is no address such as http://localhost:4318; nothing is exported to it")
            return "none"
    return "http"


def is_http_address(text: str) -> bool:
    """Whether a request can be sent there."""
    try:
        parts = urlsplit(text)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_one and not any(sign.isspace() for sign in parts.netloc)


def _interval_s(value: str, remarks: list[str]) -> float:
    try:
        interval_s = float(value.strip() or INTERVAL_S * 1000) / 1000
    except ValueError:
        interval_s = 0.0
    if 0.0 < interval_s < float("inf"):
        return min(max(SHORTEST_S, interval_s), LONGEST_S)
    remarks.append(f"OTEL_METRIC_EXPORT_INTERVAL is no number of milliseconds; {INTERVAL_S * 1000:.0f} is used")
    return INTERVAL_S
