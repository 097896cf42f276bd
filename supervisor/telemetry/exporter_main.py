"""The process that exports telemetry: `python -P PATH/supervisor/telemetry/exporter_main.py`. It alone imports the SDK.

Standard input has the lines of `lines`; at its end, which is also the end of a killed host, the process exports what it
has, within the time that the order gives, and ends. Standard output tells what has arrived, and what has failed. The
spans that wait are bounded in number and size: a collector that is too slow costs spans, not memory.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `supervisor`.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(os.path.dirname(here)), *(entry for entry in sys.path if entry != here)]
    # A short run waits for the imports. Optional parts of the libraries, for which this process has no use, would take
    # a tenth of their time, and the collection of garbage another one.
    sys.modules |= {"psutil": None, "chardet": None, "charset_normalizer": None}  # type: ignore[dict-item]
    warnings.simplefilter("ignore")
    gc.disable()

import logging
import signal
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Observation
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    MetricExportResult,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from supervisor.telemetry.extension_metrics import METRICS, NAME, Figures
from supervisor.telemetry.lines import Failed, Order, Sent, decode_order, encode
from supervisor.telemetry.otlp_session import OtlpSession
from supervisor.telemetry.settings import GRPC
from wire.framing import LineSplitter, Oversize
from wire.text import one_line
from wire.traces.span import Span, Spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from opentelemetry.metrics import CallbackOptions

    from wire.trace_context import TraceContext

SCHEMA = "https://opentelemetry.io/schemas/1.45.0"
"""The version of the semantic conventions, on which version 0.1.0 of those for generative AI builds."""
LINE_LIMIT = 4 * 1024 * 1024
"""Maximum of bytes of a line."""
WAITING_LIMIT = 32 * 1024 * 1024
"""Maximum of bytes of the lines of all spans that wait."""
QUEUE, BATCH = 2048, 512
"""Defaults of `OTEL_BSP_MAX_QUEUE_SIZE` and `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`, as the standard says."""
READ = 65536
LATE_S = 1.0
"""Seconds after the time for the flush in which the kernel ends the process, whatever holds it."""
LONG = 1 << 63
"""The smallest whole number that OTLP cannot hold."""

_lines: msgspec.json.Decoder[Spans | Figures] = msgspec.json.Decoder(Spans | Figures)


class Host:
    """Standard output. Lines are written whole, from any thread."""

    def __init__(self) -> None:
        """Output of the SDK to descriptor 1 goes to standard error."""
        self._output = os.dup(1)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def tell(self, line: Sent | Failed) -> None:
        with self._lock:
            try:
                os.write(self._output, encode(line))
            except OSError:
                pass  # the host has ended


class ExportedSpan(ReadableSpan):
    """A span as the SDK wants it, with the size of its line in bytes."""

    def __init__(self, span: Span, size: int, resource: Resource, scope: InstrumentationScope, limits: SpanLimits):
        """Raises `ValueError` for ids that are none."""
        self.size = size
        parent = _context(span.trace_id, span.parent_id, span.state) if span.parent_id else None
        super().__init__(
            span.name,
            context=_context(span.trace_id, span.span_id, span.state),
            parent=parent,
            resource=resource,
            attributes=_attributes(span.attributes, limits),
            events=[Event(each.name, _attributes(each.attributes, limits), each.time_ns) for each in span.events],
            links=[Link(_linked(each)) for each in span.links],
            kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.message or None) if span.is_error else Status(),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=scope,
        )


def _context(trace_id: str, span_id: str, state: str) -> SpanContext:
    trace_state = TraceState.from_header([state]) if state else None
    return SpanContext(int(trace_id, 16), int(span_id, 16), False, TraceFlags(TraceFlags.SAMPLED), trace_state)


def _linked(context: TraceContext) -> SpanContext:
    return _context(context.trace_id, context.span_id, context.state)


def _attributes(given: dict[str, Any], limits: SpanLimits) -> BoundedAttributes:
    whole = {name: str(value) if _is_long(value) else value for name, value in given.items()}
    return BoundedAttributes(limits.max_span_attributes, whole, True, limits.max_span_attribute_length)


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not -LONG <= value < LONG


def _count(variable: str, default: int) -> int:
    """The value of a variable that is a number of spans; the default if it is none."""
    try:
        return max(1, int(os.environ.get(variable, "") or default))
    except ValueError:
        return default


class Waiting:
    """Counts the spans that wait. All methods may be called from any thread."""

    def __init__(self) -> None:
        self.limit = _count("OTEL_BSP_MAX_QUEUE_SIZE", QUEUE)
        self.count = self._size = 0
        self._lock = threading.Lock()

    def admits(self, size: int) -> bool:
        """Counts one more span, unless too much waits."""
        with self._lock:
            if self.count >= self.limit or self._size + size > WAITING_LIMIT:
                return False
            self.count += 1
            self._size += size
            return True

    def done(self, spans: Sequence[ExportedSpan]) -> None:
        with self._lock:
            self.count -= len(spans)
            self._size -= sum(span.size for span in spans)


class Traces:
    """The spans on their way."""

    def __init__(self, order: Order, host: Host, resource: Resource) -> None:
        self.session = OtlpSession()
        self._host = host
        self._resource = resource
        self._scope = InstrumentationScope("zot", order.version, SCHEMA)
        self._limits = SpanLimits()
        self._waiting = Waiting()
        watched = _watched(self._exporter_class(order), self._exported)
        options: dict[str, Any] = {"session": self.session} if order.traces == "http" else {}
        if order.traces == "console":
            options = {"out": sys.stderr, "formatter": lambda span: span.to_json(indent=None) + "\n"}
        self.exporter = watched(**options)
        limit = self._waiting.limit
        at_once = min(limit, _count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", BATCH))
        self._processor = BatchSpanProcessor(self.exporter, max_queue_size=limit, max_export_batch_size=at_once)

    def _exporter_class(self, order: Order) -> Any:
        if order.traces == "grpc":
            return import_module(f"{GRPC}.trace_exporter").OTLPSpanExporter
        return ConsoleSpanExporter if order.traces == "console" else OTLPSpanExporter

    def take(self, spans: Sequence[Span], size: int) -> None:
        each_size = size // max(1, len(spans))
        for span in spans:
            try:
                made = ExportedSpan(span, each_size, self._resource, self._scope, self._limits)
            except (ValueError, TypeError, OverflowError) as error:
                self._host.tell(Failed("traces", "", f"a span that cannot be read ({type(error).__name__})"))
                continue
            if self._waiting.admits(each_size):
                self._processor.on_end(made)
            else:
                where = self.session.where
                limits = f"{self._waiting.limit} spans or {WAITING_LIMIT >> 20} MiB"
                self._host.tell(Failed("traces", where, f"too slow: more than {limits} wait"))

    def _exported(self, spans: Sequence[ExportedSpan], result: object) -> None:
        self._waiting.done(spans)
        session = self.session
        if result is not SpanExportResult.SUCCESS:
            self._host.tell(Failed("traces", session.where, session.reason or "they cannot be exported"))
            return
        rejected, why = _rejected(session.body)
        self._host.tell(Sent("traces", len(spans) - rejected))
        if rejected:
            self._host.tell(Failed("traces", session.where, f"it rejects some{why}"))

    def flush(self) -> None:
        """Exports what waits, and returns when all has arrived or failed."""
        self.session.is_ending = True
        if self.session.reason:
            self.exporter.shutdown()  # it takes nothing now, and may have asked for minutes
        self._processor.shutdown()  # type: ignore[no-untyped-call]

    def give_up(self, flush_s: float) -> None:
        """Called when the time is over."""
        if self._waiting.count:
            self._host.tell(Failed("traces", self.session.where, f"not all taken within {flush_s:.0f} s at the end"))


def _rejected(body: bytes) -> tuple[int, str]:
    """The number of spans that a collector has rejected although it answers with success, and why."""
    try:
        partial = ExportTraceServiceResponse.FromString(body).partial_success
    except Exception:  # of protobuf: it has no other words for an answer of another kind
        return 0, ""
    said = one_line(partial.error_message, 80)
    return max(0, int(partial.rejected_spans)), f": {said}" if said else ""


class Metrics:
    """The last figures on their way."""

    def __init__(self, order: Order, host: Host, resource: Resource) -> None:
        self.session = OtlpSession()
        self.figures: Figures | None = None
        self._host = host
        watched = _watched(self._exporter_class(order), self._exported)
        options: dict[str, Any] = {"session": self.session} if order.metrics == "http" else {}
        if order.metrics == "console":
            options = {"out": sys.stderr, "formatter": lambda data: data.to_json(indent=None) + "\n"}
        self.exporter = watched(**options)
        reader = PeriodicExportingMetricReader(self.exporter, export_interval_millis=order.metrics_s * 1000)
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("zot", order.version, SCHEMA)
        for number, metric in enumerate(METRICS):
            create = getattr(meter, f"create_observable_{metric.instrument}")
            create(metric.name, [self._observe(number)], metric.unit, metric.description)

    def _exporter_class(self, order: Order) -> Any:
        if order.metrics == "grpc":
            return import_module(f"{GRPC}.metric_exporter").OTLPMetricExporter
        return ConsoleMetricExporter if order.metrics == "console" else OTLPMetricExporter

    def _observe(self, number: int) -> Callable[[CallbackOptions], Iterable[Observation]]:
        """The callback for the metric with this number in `METRICS`."""

        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            values = () if self.figures is None else self.figures.values[number]
            return [Observation(value, {NAME: name} if name else None) for value, name in values]

        return observe

    def _exported(self, _data: object, result: object) -> None:
        session = self.session
        if result is MetricExportResult.SUCCESS:
            self._host.tell(Sent("metrics", 1))
        else:
            self._host.tell(Failed("metrics", session.where, session.reason or "they cannot be exported"))

    def flush(self) -> None:
        self.session.is_ending = True
        if self.session.reason:
            self.exporter.shutdown()
        self._provider.shutdown()

    def give_up(self, flush_s: float) -> None:
        pass  # figures are no loss that anybody counts


def _watched(exporter: Any, told: Callable[[Any, object], None]) -> Any:
    """A class of exporters that tells of each export and its result."""

    class Watched(exporter):  # type: ignore[misc]
        def export(self, batch: Any, *args: Any, **given: Any) -> Any:
            result = super().export(batch, *args, **given)
            told(batch, result)
            return result

    return Watched


def _resource(order: Order) -> Resource:
    """The resource. The user's variables `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` come first."""
    ours: dict[str, Any] = {
        "service.name": "zot",
        "service.version": order.version,
        "service.instance.id": order.instance,
        "process.pid": order.pid,
    }
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes}, SCHEMA)


def main() -> None:
    """Never returns: threads that wait for a collector end with the process."""
    gc.freeze()
    gc.enable()
    logging.disable(logging.CRITICAL)  # the host tells the user, once
    host = Host()
    splitter = LineSplitter(LINE_LIMIT)
    ways: list[Traces | Metrics] = []
    traces: Traces | None = None
    metrics: Metrics | None = None
    flush_s = 0.0
    while data := os.read(0, READ):
        for line in splitter.feed(data):
            if isinstance(line, Oversize):
                host.tell(Failed("traces", "", f"a span of more than {LINE_LIMIT >> 20} MiB"))
                continue
            if not flush_s:
                order = decode_order(bytes(line))
                flush_s, resource = order.flush_s, _resource(order)
                traces = None if order.traces == "none" else Traces(order, host, resource)
                metrics = None if order.metrics == "none" else Metrics(order, host, resource)
                ways = [way for way in (traces, metrics) if way is not None]
                continue
            try:
                said = _lines.decode(line)
            except msgspec.DecodeError:
                host.tell(Failed("traces", "", "a line that cannot be read"))
                continue
            if isinstance(said, Figures) and metrics is not None:
                metrics.figures = said
            elif isinstance(said, Spans) and traces is not None:
                traces.take(said.spans, len(line))
    _end(ways, flush_s)


def _end(ways: Sequence[Traces | Metrics], flush_s: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, flush_s + LATE_S)
    ends_at = time.monotonic() + flush_s
    threads = [threading.Thread(target=way.flush, daemon=True) for way in ways]
    for thread in threads:
        thread.start()
    for way, thread in zip(ways, threads, strict=True):
        thread.join(max(0.0, ends_at - time.monotonic()))
        if thread.is_alive():
            way.give_up(flush_s)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
