"""A collector on loopback: takes OTLP over HTTP, and gives the decoded spans as a tree. It can misbehave."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

Behaviour = Callable[["Handler"], None]


@dataclass
class ReceivedSpan:
    """A span as it arrived."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[tuple[str, str]]
    error: str | None
    """The message of an error, which may be empty; None without one."""
    start_ns: int
    end_ns: int
    state: str
    resource: dict[str, Any] = field(repr=False)
    scope: tuple[str, str] = field(repr=False)
    schema: str = field(repr=False)


class OtlpReceiver:
    """Serves in a thread until it is left. `behave` answers instead of it, once per request."""

    def __init__(self, behave: Behaviour | None = None) -> None:
        self.spans: list[ReceivedSpan] = []
        self.values: dict[str, dict[tuple[tuple[str, Any], ...], Any]] = {}
        """The last value of each metric by its sorted attributes."""
        self.units: dict[str, str] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        """Path and headers of each request."""
        self.behave = behave
        self.released = threading.Event()
        """Set at the end: a handler that gives no answer may wait for it."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # each is joined at the end
        self.connections: list[socket.socket] = []
        self._server.receiver = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> OtlpReceiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        for connection in self.connections:
            with suppress(OSError):  # it has ended
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """The variable that has programs export to here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.address}

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self._take_metrics(ExportMetricsServiceRequest.FromString(body))

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for of_resource in request.resource_spans:
            resource = _attributes(of_resource.resource.attributes)
            for of_scope in of_resource.scope_spans:
                scope = of_scope.scope.name, of_scope.scope.version
                for span in of_scope.spans:
                    self.spans.append(
                        ReceivedSpan(
                            span.name, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.kind,
                            _attributes(span.attributes),
                            [(event.name, _attributes(event.attributes)) for event in span.events],
                            [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
                            span.status.message if span.status.code == 2 else None,
                            span.start_time_unix_nano, span.end_time_unix_nano, span.trace_state,
                            resource, scope, of_scope.schema_url,
                        )
                    )  # fmt: skip

    def _take_metrics(self, request: ExportMetricsServiceRequest) -> None:
        for of_resource in request.resource_metrics:
            for of_scope in of_resource.scope_metrics:
                for metric in of_scope.metrics:
                    data = getattr(metric, metric.WhichOneof("data"))
                    values = self.values.setdefault(metric.name, {})
                    self.units[metric.name] = metric.unit
                    for point in data.data_points:
                        value = point.as_int if point.WhichOneof("value") == "as_int" else point.as_double
                        values[tuple(sorted(_attributes(point.attributes).items()))] = value

    # --- the spans ------------------------------------------------------------------------------------------

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReceivedSpan:
        found = self.named(name)
        assert len(found) == 1, f"{len(found)} spans {name!r} of {sorted(span.name for span in self.spans)}"
        return found[0]

    def tree(self, show: Callable[[ReceivedSpan], Any] = lambda span: span.name) -> list[Any]:
        """All spans, each as `show` gives it, or with its children as a pair of both; siblings by their starts. A span
        whose parent has not arrived is a root."""
        known = {span.span_id for span in self.spans}

        def below(parent: str) -> list[Any]:
            children = [span for span in self.spans if (span.parent_id if span.parent_id in known else "") == parent]
            children.sort(key=lambda span: (span.start_ns, span.end_ns))
            return [(show(span), inner) if (inner := below(span.span_id)) else show(span) for span in children]

        return below("")


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    @property
    def receiver(self) -> OtlpReceiver:
        return self.server.receiver  # type: ignore[attr-defined, no-any-return]

    def setup(self) -> None:
        super().setup()
        self.receiver.connections.append(self.connection)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.receiver.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        if self.receiver.behave is not None:
            self.receiver.behave(self)
            return
        self.receiver.take(self.path, body)
        self.answer(200, ExportTraceServiceResponse().SerializeToString())

    def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def answers(code: int, **headers: str) -> Behaviour:
    """Answers with this status."""
    return lambda handler: handler.answer(code, **headers)


def silent(handler: Handler) -> None:
    """Takes the request, and gives no answer."""
    handler.receiver.released.wait()
    handler.close_connection = True


def closing(handler: Handler) -> None:
    """Closes the connection without an answer."""
    handler.close_connection = True


def cut_off(handler: Handler) -> None:
    """Closes the connection within the head of its answer."""
    handler.wfile.write(b"HTTP/1.")
    handler.close_connection = True


def dripping(handler: Handler) -> None:
    """Writes its answer byte by byte, without an end."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-")
    while not handler.receiver.released.wait(0.05):
        try:
            handler.wfile.write(b"x")
        except OSError:
            return


def huge(handler: Handler) -> None:
    """Answers with success and 1 GiB."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(2**30))
    handler.end_headers()
    piece = bytes(2**20)
    try:
        for _ in range(2**10):
            handler.wfile.write(piece)
    except OSError:
        handler.close_connection = True


def rejecting(count: int, why: str) -> Behaviour:
    """Answers with success, and says that it has rejected this number of spans."""

    def behave(handler: Handler) -> None:
        answer = ExportTraceServiceResponse()
        answer.partial_success.rejected_spans = count
        answer.partial_success.error_message = why
        handler.answer(200, answer.SerializeToString())

    return behave


def _attributes(given: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in given}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return None if kind is None else getattr(value, kind)
