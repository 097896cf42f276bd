"""The standard's variables, and what each wrong value gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.telemetry.sampler import Sampler
from supervisor.telemetry.settings import GRPC, Settings, is_http_address, read_settings
from wire.trace_context import TraceContext

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
VARIABLES = (
    "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_SDK_DISABLED",
    "OTEL_EXPORTER_OTLP_ENDPOINT", "TRACEPARENT", "TRACESTATE",
)  # fmt: skip


def read(has_grpc: bool = False, **environ: str) -> Settings:
    found = read_settings(environ, lambda name: has_grpc and name == GRPC)
    assert found is not None
    return found


def test_the_defaults():
    assert read() == Settings("http", "http", Sampler(), None, 60.0, ())


@pytest.mark.parametrize("value", ["true", " TRUE "])
def test_all_can_be_turned_off(value):
    assert read_settings({"OTEL_SDK_DISABLED": value}, lambda _name: True) is None
    assert read(OTEL_SDK_DISABLED="1") == read(), "the standard knows no other word"


def test_each_signal_goes_its_way():
    found = read(OTEL_TRACES_EXPORTER="console", OTEL_METRICS_EXPORTER="none")
    assert (found.traces, found.metrics, found.exports) == ("console", "none", True)
    assert not read(OTEL_TRACES_EXPORTER="none", OTEL_METRICS_EXPORTER="None").exports


def test_an_unknown_exporter_is_told():
    found = read(OTEL_TRACES_EXPORTER="zipkin")
    assert found.traces == "http"
    assert found.remarks == (
        "OTEL_TRACES_EXPORTER=zipkin is unknown (otlp, console and none are); otlp is used",
    )  # fmt: skip


def test_grpc_is_used_where_it_is_installed():
    found = read(True, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert (found.traces, found.metrics, found.remarks) == ("grpc", "grpc", ())
    found = read(True, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="grpc")
    assert (found.traces, found.metrics) == ("grpc", "http")


def test_without_its_package_one_line_says_what_to_install():
    found = read(OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert (found.traces, found.metrics) == ("none", "none")
    assert found.remarks == (
        "OTEL_EXPORTER_OTLP_PROTOCOL=grpc needs pip install opentelemetry-exporter-otlp-proto-grpc; nothing is exported"
        " over it",
    )


def test_another_protocol_is_told_and_protobuf_used():
    found = read(OTEL_EXPORTER_OTLP_PROTOCOL="http/json")
    assert (found.traces, len(found.remarks)) == ("http", 1)


@pytest.mark.parametrize("value", ["", "0", "-5", "soon", "inf", "nan"])
def test_an_interval_that_is_none(value):
    found = read(OTEL_METRIC_EXPORT_INTERVAL=value)
    assert found.metrics_s == 60.0
    assert len(found.remarks) == bool(value)
    assert read(OTEL_METRIC_EXPORT_INTERVAL="250").metrics_s == 0.25


@pytest.mark.parametrize(("value", "seconds"), [("0.0001", 0.1), ("1e300", 86_400.0)])
def test_an_interval_without_sense_is_bounded(value, seconds):
    assert read(OTEL_METRIC_EXPORT_INTERVAL=value) == Settings("http", "http", Sampler(), None, seconds, ())


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("http://localhost:4318", True),
        ("HTTPS://me:secret@[::1]:4318/v1/traces?key=a b", True),
        ("localhost:4318", False),
        ("127.0.0.1:4318", False),
        ("collector", False),
        ("/var/run/collector.sock", False),
        ("grpc://collector:4317", False),
        ("http://", False),
        ("http://collector:99999", False),
        ("http://[::1", False),
        ("http://a collector", False),
    ],
)
def test_what_is_an_address(address: str, is_one: bool):
    assert is_http_address(address) is is_one


def test_an_address_that_cannot_be_one_is_told_once_and_without_its_secrets():
    found = read(OTEL_EXPORTER_OTLP_ENDPOINT="me:hunter2@collector:4318")
    assert (found.traces, found.metrics, found.exports) == ("none", "none", False)
    assert found.remarks == (
        "OTEL_EXPORTER_OTLP_ENDPOINT is no address such as http://localhost:4318; nothing is exported to it",
    )
    found = read(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="collector:4318", OTEL_EXPORTER_OTLP_ENDPOINT="http://collector")
    assert (found.traces, found.metrics) == ("none", "http")
    assert found.remarks[0].startswith("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no address")


@pytest.mark.parametrize(
    "others",
    [{"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none"}, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}],
)
def test_an_address_that_is_not_used_or_is_one_of_grpc_is_not_looked_at(others):
    assert read(True, OTEL_EXPORTER_OTLP_ENDPOINT="collector:4317", **others).remarks == ()


def test_the_context_in_which_it_was_started():
    expected = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", True, "a=b")
    assert read(TRACEPARENT=PARENT, TRACESTATE="a=b").outside == expected
    assert read(TRACEPARENT="00-nothing", TRACESTATE="a=b").outside is None
    off = read(TRACEPARENT=PARENT, OTEL_TRACES_SAMPLER="always_off").outside
    assert off is not None
    assert not off.is_sampled, "a sampler that follows no parent decides itself"


@given(st.dictionaries(st.sampled_from(VARIABLES), st.text(max_size=60)))
def test_no_value_is_an_error(environ):
    read_settings(environ, lambda _name: False)
