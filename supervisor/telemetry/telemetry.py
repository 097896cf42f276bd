"""The telemetry of one process: its spans, its figures, and the process that exports both."""

from __future__ import annotations

import os
import uuid
from importlib.util import find_spec
from typing import TYPE_CHECKING

from supervisor.telemetry.exporter import OWN_S, Exporter
from supervisor.telemetry.extension_metrics import figures_of
from supervisor.telemetry.lines import Order, encode
from supervisor.telemetry.settings import read_settings
from supervisor.telemetry.span_recorder import SpanRecorder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.loop.loop import Loop, Timer
    from supervisor.supervisor import Supervisor
    from supervisor.telemetry.settings import Settings
    from wire.stats import HostKind, Stats
    from wire.trace_context import TraceContext

NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
MISSING = "--otel needs the SDK of OpenTelemetry: pip install 'pyzot[otel]'"


class MissingExtraError(Exception):
    """The extra is not installed; the text says what to do. A command ends with exit status 2."""


def has_module(name: str) -> bool:
    """Whether this module is installed. Imports nothing of ours or of the SDK: its outer packages have no code."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def check_extra() -> None:
    """Raises `MissingExtraError` if the extra is not installed."""
    if not all(map(has_module, NEEDED)):
        raise MissingExtraError(MISSING)


def begin_telemetry(
    loop: Loop,
    version: str,
    say: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
    *,
    is_lasting: bool = False,
) -> Telemetry | None:
    """Starts the export as the standard's variables in `environ` say (default: those of this process), in parallel with
    whatever follows. Returns None if they turn telemetry off. `say` gets lines for the user, each without the name of
    the program. With `is_lasting`, for a host, failures are told when they happen; otherwise at the end. Raises
    `MissingExtraError`."""
    environ = os.environ if environ is None else environ
    settings = read_settings(environ, has_module)
    if settings is None:
        return None
    check_extra()
    for remark in settings.remarks:
        say(f"otel: {remark}")
    exporter = None
    if settings.exports:
        order = Order(
            settings.traces, settings.metrics, settings.metrics_s, OWN_S, version, os.getpid(), str(uuid.uuid4())
        )
        exporter = Exporter(loop, order, environ, say, is_lasting=is_lasting)
    return Telemetry(loop, settings, exporter)


class Telemetry:
    """Made by `begin_telemetry`. `close` it last, after all spans have ended and before the loop is closed."""

    def __init__(self, loop: Loop, settings: Settings, exporter: Exporter | None) -> None:
        self.recorder = SpanRecorder(self.send, settings.outside, is_sampled=settings.sampler.is_sampled)
        """Opens spans. Its `outside` is the context of `TRACEPARENT`."""
        self._loop = loop
        self._settings = settings
        self._exporter = exporter
        self._figures: Callable[[], Stats] | None = None
        self._timer: Timer | None = None

    def judge(self, context: TraceContext | None) -> TraceContext | None:
        """The context of another program, with the decision of the sampler here."""
        return self._settings.sampler.judge_outside(context)

    def send(self, line: bytes, count: int = 1) -> None:
        """Exports a line of `wire.traces.span.encode` with this number of spans. Never waits."""
        if self._exporter is not None and self._settings.traces != "none":
            self._exporter.send(line, count)

    def follow(self, figures: Callable[[], Stats]) -> None:
        """Exports these figures as metrics from now on, and once more at the end. See `export_figures`."""
        if self._settings.metrics != "none" and self._exporter is not None:
            self._figures = figures
            self.tell_figures()

    def tell_figures(self, *, is_last: bool = False) -> None:
        """Exports the figures of this moment. With `is_last` they are not looked at again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        figures, exporter = self._figures, self._exporter
        if figures is None or exporter is None:
            return
        exporter.send(encode(figures_of(figures())))
        if is_last:
            self._figures = None
        else:
            self._timer = self._loop.call_later(self._settings.metrics_s, self.tell_figures)

    def close(self, *, at_once: bool = False) -> None:
        """Exports the rest, within `exporter.FLUSH_S` seconds, and ends the process that exports. With `at_once` the
        rest is lost. Later calls do nothing."""
        self.tell_figures(is_last=True)
        exporter, self._exporter = self._exporter, None
        if exporter is not None:
            exporter.close(at_once=at_once)


def export_figures(telemetry: Telemetry, supervisor: Supervisor, kind: HostKind, version: str, cwd: str) -> None:
    """Exports the figures of a supervisor from now on. The last ones are of its last sample, when its extensions still
    run: after their end they use no memory."""
    telemetry.follow(lambda: supervisor.snapshot(kind, version, cwd))

    def sampled() -> None:
        if supervisor.closed:
            telemetry.tell_figures(is_last=True)

    supervisor.on_sample.append(sampled)
