"""The telemetry of a host without an agent: spans of its extensions and of calls, and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.telemetry.extension_spans import watch_extensions
from supervisor.telemetry.telemetry import begin_telemetry, export_figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.supervisor import Supervisor
    from supervisor.telemetry.extension_spans import ExtensionSpans
    from wire.stats import HostKind
    from wire.trace_context import TraceContext


class HostTelemetry:
    """`close` it after the stop of the supervisor and before its loop is closed. `say` gets lines for the user;
    `caller_of` returns the caller's span of the call with an id, if the caller has named one. Raises
    `MissingExtraError`."""

    def __init__(
        self,
        supervisor: Supervisor,
        kind: HostKind,
        version: str,
        cwd: str,
        say: Callable[[str], None],
        caller_of: Callable[[str | None], TraceContext | None] = lambda _call: None,
    ) -> None:
        self._spans: ExtensionSpans | None = None
        self._telemetry = telemetry = begin_telemetry(supervisor.loop, version, say, is_lasting=True)
        """None if the standard's variables turn telemetry off."""
        if telemetry is not None:
            self._spans = watch_extensions(
                supervisor, telemetry.recorder, lambda call: telemetry.judge(caller_of(call))
            )
            export_figures(telemetry, supervisor, kind, version, cwd)

    def close(self, *, at_once: bool = False) -> None:
        """Exports the rest; with `at_once` it is lost."""
        if self._spans is not None:
            self._spans.close()
        if self._telemetry is not None:
            self._telemetry.close(at_once=at_once)
