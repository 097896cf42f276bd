"""The spans of an engine, and where they go: to the process that exports them, or to the batch of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.model.provider import ProviderUnavailable
from agent.telemetry.model_spans import SpanProvider
from agent.telemetry.run_spans import RunSpans
from supervisor.telemetry.extension_spans import watch_extensions
from supervisor.telemetry.span_recorder import SpanRecorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.engine.engine import Engine
    from agent.model.provider import Provider
    from agent.options import Options
    from supervisor.loop.loop import Loop
    from supervisor.telemetry.extension_spans import ExtensionSpans
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
        from supervisor.telemetry.telemetry import begin_telemetry  # a run of a batch does not load it

        telemetry = begin_telemetry(loop, version, say)
        if telemetry is None:
            return None
        recorder = telemetry.recorder
    name = "none" if isinstance(provider, ProviderUnavailable) else provider.name
    spans = RunSpans(
        recorder, version=version, provider=name, with_content=options.otel_content, parent=options.trace_context
    )
    return RunTelemetry(spans, telemetry, version)


class RunTelemetry:
    """Of one engine. `telemetry` exports its spans; None if the batch of the run does."""

    def __init__(self, spans: RunSpans, telemetry: Telemetry | None, version: str) -> None:
        self.spans = spans
        self._telemetry = telemetry
        self._version = version
        self._engine: Engine | None = None
        self._extensions: ExtensionSpans | None = None

    def around(self, provider: Provider | ProviderUnavailable) -> Provider | ProviderUnavailable:
        """The provider with a span for each request."""
        return provider if isinstance(provider, ProviderUnavailable) else SpanProvider(provider, self.spans)

    def follow(self, engine: Engine) -> None:
        """Follows the calls, the waits and the extensions of the engine. To be called before its start."""
        self._engine = engine
        self._extensions = watch_extensions(
            engine.supervisor, self.spans.recorder, self.spans.parent_of, has_content=self.spans.with_content
        )
        if self._telemetry is not None:
            from supervisor.telemetry.telemetry import export_figures

            export_figures(self._telemetry, engine.supervisor, "run", self._version, engine.cwd)
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

    def stopped(self) -> None:
        """The engine has stopped."""
        self.spans.close()
        if self._extensions is not None:
            self._extensions.close()

    def close(self, *, at_once: bool = False) -> None:
        """Exports the rest, as `Telemetry.close` does."""
        if self._telemetry is not None:
            self._telemetry.close(at_once=at_once)
