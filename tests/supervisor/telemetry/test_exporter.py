"""A real process that exports to a collector of ours: what arrives, and each fault of the collector."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from supervisor.telemetry import exporter as exporter_module
from supervisor.telemetry import telemetry as telemetry_module
from supervisor.telemetry.exporter import OWN_S
from supervisor.telemetry.telemetry import Telemetry, begin_telemetry
from tests.support.otlp_receiver import (
    Behaviour,
    OtlpReceiver,
    answers,
    closing,
    cut_off,
    dripping,
    huge,
    rejecting,
    silent,
)
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NO_METRICS = {"OTEL_METRICS_EXPORTER": "none"}


class Place:
    def __init__(self, loop):
        self.loop = loop
        self.said: list[str] = []
        self.begun: list[Telemetry] = []

    def begin(self, environ: dict[str, str], *, is_lasting: bool = False) -> Telemetry:
        environ = {"PATH": os.environ["PATH"], **NO_METRICS, **environ}
        telemetry = begin_telemetry(self.loop, "1.2.3", self.said.append, environ, is_lasting=is_lasting)
        assert telemetry is not None
        self.begun.append(telemetry)
        self.loop.run_until(lambda: telemetry._exporter is None or telemetry._exporter.child is not None)
        return telemetry

    def export(self, environ: dict[str, str], spans: int = 3) -> list[str]:
        """Exports this number of spans, and returns what the user was told."""
        telemetry = self.begin(environ)
        for number in range(spans):
            telemetry.recorder.begin(f"span {number}", is_root=True).end()
        telemetry.close()
        return self.said


@pytest.fixture
def in_time(place, monkeypatch):
    """The process has the time that it really has."""
    monkeypatch.setattr(telemetry_module, "OWN_S", OWN_S)


@pytest.fixture
def place(loop, monkeypatch):
    monkeypatch.setattr(exporter_module, "FLUSH_S", PATIENCE_S)  # the machine may be slow
    monkeypatch.setattr(telemetry_module, "OWN_S", PATIENCE_S / 2)
    place = Place(loop)
    yield place
    for telemetry in place.begun:
        telemetry.close(at_once=True)


def behaving(behave: Behaviour) -> OtlpReceiver:
    return OtlpReceiver(behave)


def test_the_spans_arrive_as_they_were(place):
    with OtlpReceiver() as receiver:
        telemetry = place.begin({**receiver.environment, "TRACEPARENT": PARENT, "TRACESTATE": "a=b"})
        recorder = telemetry.recorder
        run = recorder.begin("run", None, {"text": "ä", "number": 2**70, "list": ("a", "b"), "is": True, "left": None})
        call = recorder.begin("call", run.context, kind="client", links=(run.context,), start_ns=5)
        call.tell("first", {"bytes": 3})
        call.end("timeout", "no answer", end_ns=9)
        run.end()
        recorder.begin("other", is_root=True).end()
        telemetry.close()
    assert place.said == []
    assert sorted(map(str, receiver.tree())) == ["('run', ['call'])", "other"]
    run_span, call_span, other = (receiver.one(name) for name in ("run", "call", "other"))
    assert (run_span.trace_id, run_span.parent_id, run_span.state) == (PARENT[3:35], PARENT[36:52], "a=b")
    assert run_span.attributes == {"text": "ä", "number": str(2**70), "list": ["a", "b"], "is": True}
    assert run_span.span_id == run.context.span_id
    assert (call_span.kind, call_span.start_ns, call_span.end_ns) == (3, 5, 9)
    assert (call_span.attributes, call_span.error) == ({"error.type": "timeout"}, "no answer")
    assert call_span.events == [("first", {"bytes": 3})]
    assert call_span.links == [(run_span.trace_id, run_span.span_id)]
    assert (other.parent_id, other.error) == ("", None)
    assert other.trace_id != run_span.trace_id
    assert run_span.scope == ("zot", "1.2.3")
    assert run_span.schema == "https://opentelemetry.io/schemas/1.45.0"
    assert run_span.resource["service.name"] == "zot"
    assert run_span.resource["service.version"] == "1.2.3"
    assert run_span.resource["process.pid"] == os.getpid()
    assert run_span.resource["service.instance.id"]


def test_the_users_words_for_the_resource_come_first(place):
    with OtlpReceiver() as receiver:
        named = {"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "team=a,service.version=9,service.name=b"}
        assert place.export({**receiver.environment, **named}, 1) == []
    resource = receiver.one("span 0").resource
    assert (resource["service.name"], resource["team"], resource["service.version"]) == ("mine", "a", "9")


def test_spans_of_traces_that_are_not_sampled_stay(place):
    with OtlpReceiver() as receiver:
        assert place.export({**receiver.environment, "OTEL_TRACES_SAMPLER": "always_off"}) == []
    assert receiver.requests == []


FAULTS: list[tuple[Behaviour, str]] = [
    (answers(400), "HTTP 400 Bad Request; 3 spans are lost"),
    (answers(401), "HTTP 401 Unauthorized; check OTEL_EXPORTER_OTLP_HEADERS; 3 spans are lost"),
    (answers(500), "HTTP 500 Internal Server Error; 3 spans are lost"),
    (answers(503, Retry_After="3600"), "HTTP 503 Service Unavailable; 3 spans are lost"),
    (answers(429, Retry_After="1"), "HTTP 429 Too Many Requests; 3 spans are lost"),
    (answers(307, Location="http://127.0.0.1:1/"), "HTTP 307: it redirects, which is not followed; 3 spans are lost"),
    (closing, "it closes the connection without an answer; 3 spans are lost"),
    (cut_off, "it closes the connection without an answer; 3 spans are lost"),
    (rejecting(2, "too\nold"), "it rejects some: too old; 2 spans are lost"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("behave", "line"), FAULTS,
    ids=["400", "401", "500", "503", "429", "redirect", "closes", "cut off", "rejects"],
)  # fmt: skip
def test_each_fault_of_a_collector_is_one_line(place, behave, line):
    with behaving(behave) as receiver:
        said = place.export(receiver.environment)
    assert said == [f"otel: {receiver.address}/v1/traces: {line}"]


@pytest.mark.parametrize("behave", [silent, dripping])
@pytest.mark.usefixtures("in_time")
def test_a_collector_without_an_end_is_one_line(place, behave):
    with behaving(behave) as receiver:
        said = place.export(receiver.environment)
    assert said == [f"otel: {receiver.address}/v1/traces: not all taken within 2 s at the end; 3 spans are lost"]


def test_an_answer_of_a_gibibyte_is_not_read(place):
    with behaving(huge) as receiver:
        telemetry = place.begin({**receiver.environment, "OTEL_BSP_SCHEDULE_DELAY": "10"})
        exporter = telemetry._exporter
        assert exporter is not None
        assert exporter.child is not None
        telemetry.recorder.begin("span").end()
        place.loop.run_until(lambda: exporter._lost == 0, place.loop.clock() + PATIENCE_S)
        assert exporter.child.peak_rss() < 200 * 2**20
        telemetry.close()
    assert place.said == []


@pytest.mark.parametrize(
    ("endpoint", "line"),
    [
        ("http://127.0.0.1:1", "http://127.0.0.1:1/v1/traces: connection refused"),
        ("http://no-such-host.invalid:4318", "http://no-such-host.invalid:4318/v1/traces: its name cannot be resolved"),
        ("http://me:hunter2@127.0.0.1:1/hunter2?key=hunter2", "http://127.0.0.1:1/: connection refused"),
    ],
)
def test_an_address_without_a_collector_is_one_line_without_secrets(place, endpoint, line):
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=hunter2"}
    said = place.export({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **headers})
    assert len(said) == 1
    assert "hunter2" not in said[0]
    if "hunter2" not in endpoint:
        assert said == [f"otel: {line}; 3 spans are lost"]


@pytest.mark.parametrize("endpoint", ["localhost:4318", "nonsense", "http://"])
def test_an_address_that_cannot_be_one_is_told_at_the_start_and_nothing_is_lost(place, endpoint):
    said = place.export({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
    assert said == [
        "otel: OTEL_EXPORTER_OTLP_ENDPOINT is no address such as http://localhost:4318; nothing is exported to it"
    ]


def test_a_server_without_tls_is_one_line(place):
    with OtlpReceiver() as receiver:
        said = place.export({"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address.replace("http", "https")})
    assert len(said) == 1
    assert "/v1/traces: no TLS: " in said[0]


def test_headers_and_compression_of_the_user_are_sent(place):
    with OtlpReceiver() as receiver:
        more = {"OTEL_EXPORTER_OTLP_HEADERS": "x-team=a%20b", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}
        assert place.export({**receiver.environment, **more}) == []
    (_, headers), *_ = receiver.requests
    assert headers["x-team"] == "a b"
    assert headers["content-encoding"] == "gzip"
    assert len(receiver.spans) == 3


@pytest.mark.usefixtures("in_time")
def test_more_spans_than_may_wait_are_lost_and_counted(place):
    with behaving(silent) as receiver:
        said = place.export({**receiver.environment, "OTEL_BSP_MAX_QUEUE_SIZE": "5"}, spans=20)
    assert len(said) == 1
    assert said[0].endswith("too slow: more than 5 spans or 32 MiB wait; 20 spans are lost")


def test_a_value_that_the_sdk_refuses_is_named(place):
    said = place.export({"OTEL_BSP_SCHEDULE_DELAY": "-1"})
    assert len(said) == 1
    assert said[0].startswith("otel: the process that exports them has ended (exit 1): ValueError: schedule_delay")
    assert said[0].endswith("; 3 spans are lost")


def test_a_process_that_does_not_read_costs_spans_and_no_wait(place, monkeypatch):
    monkeypatch.setattr(exporter_module, "OUTBOX_LIMIT", 1000)
    telemetry = place.begin({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert telemetry._exporter is not None
    child = telemetry._exporter.child
    assert child is not None
    os.kill(child.pid, signal.SIGSTOP)
    for _ in range(100):
        telemetry.recorder.begin("span", attributes={"text": "x" * 10_000}).end()
    os.kill(child.pid, signal.SIGCONT)
    telemetry.close()
    assert place.said == ["otel: the process that exports them does not read fast enough; 100 spans are lost"]


@pytest.mark.slow
@pytest.mark.usefixtures("in_time")
def test_the_memory_of_the_process_is_bounded(place):
    with behaving(silent) as receiver:
        telemetry = place.begin({**receiver.environment, "OTEL_BSP_SCHEDULE_DELAY": "3600000"})
        assert telemetry._exporter is not None
        child = telemetry._exporter.child
        assert child is not None
        assert child.stdin is not None
        for _ in range(150):
            telemetry.recorder.begin("span", attributes={"text": "x" * 2**20}).end()
            place.loop.run_until(lambda: child.stdin.queued == 0, place.loop.clock() + PATIENCE_S)
        assert child.peak_rss() < 300 * 2**20
        telemetry.close()
    assert len(place.said) == 1
    assert place.said[0].endswith("too slow: more than 2048 spans or 32 MiB wait; 150 spans are lost")


def test_a_process_that_hangs_is_killed_at_the_end(place, monkeypatch):
    monkeypatch.setattr(exporter_module, "FLUSH_S", 0.2)
    telemetry = place.begin({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert telemetry._exporter is not None
    child = telemetry._exporter.child
    assert child is not None
    telemetry.recorder.begin("span").end()
    os.kill(child.pid, signal.SIGSTOP)
    telemetry.close()
    assert not child.is_running
    assert place.said == ["otel: the collector has not taken all within 0.2 s; 1 span is lost"]


def test_nothing_is_exported_at_once_after_a_second_signal(place):
    with OtlpReceiver() as receiver:
        telemetry = place.begin(receiver.environment)
        telemetry.recorder.begin("span").end()
        telemetry.close(at_once=True)
        telemetry.close()
    assert (receiver.requests, place.said) == ([], [])


def test_a_host_tells_a_failure_at_once_and_only_once(place):
    with behaving(answers(400)) as receiver:
        quick = {"OTEL_BSP_SCHEDULE_DELAY": "10"}
        telemetry = place.begin({**receiver.environment, **quick}, is_lasting=True)
        telemetry.recorder.begin("first").end()
        place.loop.run_until(lambda: bool(place.said), place.loop.clock() + PATIENCE_S)
        count = len(receiver.requests)
        telemetry.recorder.begin("second").end()
        place.loop.run_until(lambda: len(receiver.requests) > count, place.loop.clock() + PATIENCE_S)
        telemetry.close()
    assert place.said == [
        f"otel: {receiver.address}/v1/traces: HTTP 400 Bad Request; traces are lost while that lasts"
    ]  # fmt: skip


@pytest.mark.usefixtures("in_time")
def test_a_host_whose_spans_do_not_arrive_at_the_end_counts_them_too(place):
    with behaving(silent) as receiver:
        telemetry = place.begin(receiver.environment, is_lasting=True)
        telemetry.recorder.begin("last").end()
        telemetry.close()
    assert place.said == [f"otel: {receiver.address}/v1/traces: not all taken within 2 s at the end; 1 span is lost"]


def test_a_process_that_was_killed_is_told_and_started_again(place):
    with OtlpReceiver() as receiver:
        telemetry = place.begin(receiver.environment, is_lasting=True)
        exporter = telemetry._exporter
        assert exporter is not None
        assert exporter.child is not None
        os.kill(exporter.child.pid, signal.SIGKILL)
        place.loop.run_until(lambda: exporter.child is None, place.loop.clock() + PATIENCE_S)
        telemetry.recorder.begin("later").end()
        telemetry.close()
        assert receiver.one("later")
    assert place.said == [
        "otel: the process that exports them has ended (signal SIGKILL); traces are lost while that lasts"
    ]  # fmt: skip


def test_metrics_that_a_collector_does_not_take_are_one_line(place, host):
    with behaving(answers(404)) as receiver:
        both = {**receiver.environment, "OTEL_METRICS_EXPORTER": "otlp"}
        telemetry = place.begin(both)
        telemetry.follow(lambda: host.supervisor.snapshot("run", "1", "/"))
        telemetry.close()
    assert place.said == [
        f"otel: {receiver.address}/v1/metrics: HTTP 404 Not Found; is this the address of a collector, and its port for"
        " HTTP?; metrics are lost (OTEL_METRICS_EXPORTER=none sends none)"
    ]


def test_the_console_gets_lines_of_json_on_standard_error(capfd, place):
    assert place.export({"OTEL_TRACES_EXPORTER": "console"}) == []
    out, err = capfd.readouterr()
    assert out == ""
    assert [json.loads(line)["name"] for line in err.splitlines()] == ["span 0", "span 1", "span 2"]
