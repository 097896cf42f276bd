"""The process that exports, started before its host has a loop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from supervisor.telemetry import early_start
from supervisor.telemetry.early_start import exporter_beside, take_early
from supervisor.telemetry.telemetry import begin_telemetry
from tests.support.otlp_receiver import OtlpReceiver

BASE = {"PATH": os.environ["PATH"], "OTEL_METRICS_EXPORTER": "none"}


@pytest.fixture(autouse=True)
def not_alone(monkeypatch):
    monkeypatch.setattr(early_start, "_is_alone", lambda: False)


def test_it_is_taken_over(loop):
    said: list[str] = []
    with OtlpReceiver() as receiver:
        environ = BASE | receiver.environment
        with exporter_beside(environ):
            (started,) = early_start._early
            telemetry = begin_telemetry(loop, "1", said.append, environ)
            assert telemetry is not None
            telemetry.recorder.begin("span").end()
            assert telemetry._exporter is not None
            assert telemetry._exporter.child is not None
            assert telemetry._exporter.child.pid == started.process.pid
            telemetry.close()
        assert receiver.one("span")
    assert said == []


def test_it_ends_with_a_run_that_does_not_begin():
    with exporter_beside(BASE):
        (started,) = early_start._early
    assert started.process.returncode == -9
    assert take_early() is None


@pytest.mark.parametrize(
    "environ",
    [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}],
    ids=["disabled", "none"],
)
def test_it_is_not_started_for_nothing(environ):
    with exporter_beside(BASE | environ):
        assert take_early() is None


def test_a_program_that_is_alone_in_its_cgroup_has_no_child_so_early(monkeypatch):
    monkeypatch.setattr(early_start, "_is_alone", lambda: True)
    with exporter_beside(BASE):
        assert take_early() is None


def test_a_start_that_fails_is_left_to_the_later_one(monkeypatch):
    monkeypatch.setattr(early_start, "exporter_command", lambda: [str(Path("/no/such/program"))])
    with exporter_beside(BASE):
        assert take_early() is None
