"""Figures of a host and its extensions as metrics, and the exporters of gRPC where they are installed."""

from __future__ import annotations

import json
import os

import pytest

from supervisor.telemetry.extension_metrics import METRICS, figures_of
from supervisor.telemetry.telemetry import begin_telemetry, export_figures
from tests.support.busy_stats import extension_stats, host_stats
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.patience import PATIENCE_S
from wire.stats import Stats

GRPC = """
import json, os
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

class OTLPSpanExporter(SpanExporter):
    def export(self, spans):
        with open(BOOK, "a") as book:
            print(json.dumps([span.name for span in spans]), file=book)
        return SpanExportResult.SUCCESS if spans[0].name == "good" else SpanExportResult.FAILURE
"""


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **more}


def test_each_figure_by_its_name_and_unit():
    stats = Stats(1.0, host_stats(cpu_s=2.5, open_files=None), {"a": extension_stats(calls=7, rss_bytes=9)})
    found = dict(zip((metric.name for metric in METRICS), figures_of(stats).values, strict=True))
    assert found["zot.extension.calls"] == ((7, "a"),)
    assert found["process.memory.usage"] == ((9, "a"), (stats.host.rss_bytes, ""))
    assert found["process.cpu.time"][-1] == (2.5, "")
    assert all(value is not None for values in found.values() for value, _ in values)
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_the_process_metrics_are_those_of_the_conventions():
    from opentelemetry.semconv._incubating.metrics import process_metrics

    known = {value for name, value in vars(process_metrics).items() if name.startswith("PROCESS_")}
    ours = [metric.name for metric in METRICS if metric.name.startswith("process.")]
    assert len(ours) == 5
    assert set(ours) <= known


def test_they_are_exported_at_the_interval_and_at_the_end(loop):
    said: list[str] = []
    calls = iter(range(1, 1_000_000))
    latest: list[int] = []

    def figures() -> Stats:
        latest[:] = [next(calls)]
        return Stats(1.0, host_stats(), {"a": extension_stats(calls=latest[0])})

    with OtlpReceiver() as receiver:
        environ = environment(**receiver.environment, OTEL_TRACES_EXPORTER="none", OTEL_METRIC_EXPORT_INTERVAL="20")
        telemetry = begin_telemetry(loop, "1", said.append, environ)
        assert telemetry is not None
        telemetry.follow(figures)
        loop.run_until(lambda: len(receiver.requests) >= 3, loop.clock() + PATIENCE_S)
        telemetry.recorder.begin("nowhere").end()
        telemetry.close()
        telemetry.close()
    assert receiver.values["zot.extension.calls"] == {(("zot.extension.name", "a"),): latest[0]}
    assert receiver.units["process.memory.usage"] == "By"
    assert receiver.spans == []
    assert said == []


def test_the_last_ones_are_of_the_time_before_the_extensions_end(loop, host):
    host.write("said", 'hello("said"); send(type="ready"); sys.stdin.read()')
    with OtlpReceiver() as receiver:
        telemetry = begin_telemetry(host.loop, "1", pytest.fail, environment(**receiver.environment))
        assert telemetry is not None
        export_figures(telemetry, host.supervisor, "run", "1", "/")
        host.start()
        host.stop()
        telemetry.close()
    assert receiver.values["process.memory.usage"][(("zot.extension.name", "said"),)] > 0


def test_grpc_where_its_package_is_installed(loop, tmp_path, monkeypatch):
    folder = tmp_path / "opentelemetry" / "exporter" / "otlp" / "proto" / "grpc"
    (folder / "trace_exporter").mkdir(parents=True)
    book = tmp_path / "book"
    (folder / "__init__.py").touch()
    (folder / "trace_exporter" / "__init__.py").write_text(f"BOOK = {str(book)!r}\n{GRPC}")
    monkeypatch.syspath_prepend(tmp_path)
    said: list[str] = []
    environ = environment(
        PYTHONPATH=str(tmp_path), OTEL_EXPORTER_OTLP_PROTOCOL="grpc", OTEL_METRICS_EXPORTER="none",
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE="1",
    )  # fmt: skip
    telemetry = begin_telemetry(loop, "1", said.append, environ)
    assert telemetry is not None
    for name in ("good", "bad"):
        telemetry.recorder.begin(name).end()
    telemetry.close()
    assert [json.loads(line) for line in book.read_text().splitlines()] == [["good"], ["bad"]]
    assert said == ["otel: they cannot be exported; 1 span is lost"]
