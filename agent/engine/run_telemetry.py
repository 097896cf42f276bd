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
    from wire import events


class RunTelemetry:
    """Of one engine. `send` takes the lines with spans of a run of a batch; None: the run has an exporter of its own."""

    def __init__(self, options: Options, version: str, provider: str, send: Callable[[bytes], None]) -> None:
        self._recorder = SpanRecorder(send)
        self.spans = RunSpans(
            self._recorder, version=version, provider=provider, with_content=options.otel_content,
            parent=options.trace_context,
        )  # fmt: skip

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
        self.spans.session, self.spans.model = self._engine.session.id, self._engine.model
        self.spans.begin()

    def end(self, result: events.Result) -> None:
        """The agent has ended its work. Does nothing if it does not work."""
        self.spans.end(result)
