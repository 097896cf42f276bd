"""The spans of an engine, and where they go: to the process that exports them, or to the batch of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.model.provider import ProviderUnavailable
from agent.telemetry.model_spans import SpanProvider
from agent.telemetry.run_spans import RunSpans
from supervisor.telemetry.span_recorder import SpanRecorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.engine.engine import Engine
    from agent.model.provider import Provider
    from agent.options import Options
    from supervisor.loop.loop import Loop
    from supervisor.telemetry.telemetry import Telemetry
    from wire import events


def begin_run_telemetry(
    loop: Loop, options: Options, version: str, provider: Provider | ProviderUnavailable, say: Callable[[str], None],
    send: Callable[[bytes], None] | None = None,
) -> RunTelemetry | None:  # fmt: skip
    """The telemetry of a run with `--otel`, or of one of a batch with it, which gives `send` for lines with spans. None
    for other runs, and if the standard's variables turn telemetry off. `say` gets lines for the user."""
    telemetry = None
    if options.trace_context is not None:
        assert send is not None
        recorder = SpanRecorder(send)
    else:
        from supervisor.telemetry.telemetry import begin_telemetry  # runs of a batch do not load it

        telemetry = begin_telemetry(loop, version, say)
        if telemetry is None:
            return None
        recorder = telemetry.recorder
    name = "none" if isinstance(provider, ProviderUnavailable) else provider.name
    spans = RunSpans(
        recorder, version=version, provider=name, with_content=options.otel_content, parent=options.trace_context
    )
    return RunTelemetry(spans, telemetry)


class RunTelemetry:
    """Of one engine. `telemetry` exports its spans; None if the batch of the run does."""

    def __init__(self, spans: RunSpans, telemetry: Telemetry | None) -> None:
        self.spans = spans
        self._telemetry = telemetry
        self._engine: Engine | None = None

    def around(self, provider: Provider | ProviderUnavailable) -> Provider | ProviderUnavailable:
        """The provider with a span for each request."""
        return provider if isinstance(provider, ProviderUnavailable) else SpanProvider(provider, self.spans)

    def follow(self, engine: Engine) -> None:
        """Follows the calls and the waits of the engine. To be called before its start."""
        self._engine = engine
        engine.toolbox.follower = self.spans
        engine.on_wait = self.spans.wait_begins

    def begin(self) -> None:
        """The agent begins its work: a whole run, or a prompt of rpc."""
        assert self._engine is not None
        self.spans.session, self.spans.model = self._engine.session.id, self._engine.model
        self.spans.begin()

    def end(self, result: events.Result) -> None:
        """The agent has ended its work. Does nothing if it does not work."""
        self.spans.end(result)

    def close(self, *, at_once: bool = False) -> None:
        """Exports the rest, as `Telemetry.close` does."""
        if self._telemetry is not None:
            self._telemetry.close(at_once=at_once)
