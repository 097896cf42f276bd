"""The host of an engine: what a process has around it, whoever sends the prompts.

Notices on stderr, the control socket, the stats file and the metrics, and how a prompt is reported that has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.engine.engine import Engine
from agent.engine.run_trace import last_line, open_trace
from agent.output.event_writer import EventWriter
from agent.output.stderr_notices import StderrNotices
from supervisor.control.server import ControlServer
from supervisor.home.runtime_dir import runtime_dir
from wire import events, frames
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.abort import Abort
    from agent.engine.prompt_result import PromptResult
    from agent.engine.run_telemetry import RunTelemetry
    from agent.model.provider import Provider, ProviderUnavailable
    from agent.options import Options
    from agent.output.fd_writer import FdWriter
    from agent.output.stats_timeline import Timeline
    from agent.sessions.choice import OpenedSession
    from supervisor.loop.loop import Loop
    from wire.frames import SessionEnd


ENDS: dict[Status, SessionEnd] = {Status.OK: "complete", Status.INTERRUPTED: "abort", Status.TIMEOUT: "timeout"}
"""Why a session ends; with any other status because of an error."""
ABORTED = (Status.INTERRUPTED, Status.TIMEOUT)


class EngineHost:
    """An engine and its surroundings. `abort` ends the whole run; `zot stop` requests it, too. The `readers` get every
    record; with `output` the engine waits while that is full.

    `before_line` is called before a line goes to `stderr`. Raises `StatsFileError`.
    """

    def __init__(
        self,
        loop: Loop,
        options: Options,
        *,
        version: str,
        provider: Provider | ProviderUnavailable,
        abort: Abort,
        readers: Sequence[Callable[[events.Record], None]],
        output: FdWriter | None,
        before_line: Callable[[], None] | None = None,
        owns_process: bool = True,
        stderr: int = 2,
        who: str = "",
        session: OpenedSession | None = None,
        send_spans: Callable[[bytes], None] | None = None,
    ) -> None:
        """`send_spans` takes the lines with the spans of a run of a batch; `who` as with `StderrNotices`."""
        self._abort = abort
        self.event_writer = EventWriter(loop, abort, *readers, output=output)
        self.notices = StderrNotices(loop, self.event_writer, stderr=stderr, before_line=before_line, who=who)
        self._telemetry = self._make_telemetry(loop, options, version, provider, send_spans)
        self.engine = Engine(
            loop,
            options,
            version=version,
            provider=provider if self._telemetry is None else self._telemetry.around(provider),
            event_writer=self.event_writer,
            notices=self.notices,
            on_show=self._show,
            owns_process=owns_process,
            session=session,
        )
        self._control = ControlServer(
            loop,
            self.engine.supervisor,
            self.engine.reloader,
            kind="run",
            version=version,
            cwd=options.cwd,
            runtime_dir=runtime_dir(options.home),
            on_stop=lambda: abort.request(Status.INTERRUPTED, "stopped by zot stop"),
        )
        if self._telemetry is not None:
            self._telemetry.follow(self.engine)
            self.event_writer.readers.append(self._telemetry.spans.seen)
        try:
            self._timeline = self._make_timeline(options, version)
        except BaseException:
            if self._telemetry is not None:
                self._telemetry.close(at_once=True)
            raise
        self._trace = open_trace(options, self.engine, version, lambda text: self.notices.say(f"zot: {text}"))
        if self._trace is not None:
            self.event_writer.on_begun = self._trace.begun
            self.notices.followers.append(self._trace.noticed)
        self._end_alerts: Callable[[], None] = lambda: None
        if options.config.on_event:
            self._end_alerts = self._tell_falls(loop, options)
        self.notices.followers.append(
            lambda extension, kind, message: self._control.notice(extension.name, kind, message)
        )

    def _tell_falls(self, loop: Loop, options: Options) -> Callable[[], None]:
        """Tells the rules of the user's config of falls. Returns the function that ends this."""
        from supervisor.alerts.alerts import EventOrigin, tell_falls  # other runs do not load it

        return tell_falls(
            self.engine.supervisor.on_fall, loop, options.config,
            EventOrigin("run", options.cwd, "" if self._trace is None else self._trace.id),
            lambda line: self.notices.say(f"zot: {line}"), options.batch_alerts or "",
        )  # fmt: skip

    def _make_timeline(self, options: Options, version: str) -> Timeline | None:
        """The timeline that follows the run, if it is to be written to a file."""
        if options.stats_file is None and options.metrics_file is None:
            return None
        from agent.output.stats_timeline import Timeline  # other runs do not load them
        from supervisor.stats_writer import write_stats

        recording = write_stats(
            self.engine.supervisor,
            "run",
            version,
            options.cwd,
            stats_file=options.stats_file,
            metrics_file=options.metrics_file,
            openmetrics=options.openmetrics,
            on_error=lambda text: self.notices.say(f"zot: {text}"),
        )
        timeline = Timeline(recording)
        self.event_writer.readers.append(timeline.seen)
        self.engine.toolbox.on_begin = timeline.tool_begins
        self.notices.followers.append(timeline.notice)
        return timeline

    def _make_telemetry(
        self,
        loop: Loop,
        options: Options,
        version: str,
        provider: Provider | ProviderUnavailable,
        send: Callable[[bytes], None] | None,
    ) -> RunTelemetry | None:
        """The spans of the run, if it is to have any."""
        if not options.otel and options.trace_context is None:
            return None
        from agent.engine.run_telemetry import begin_run_telemetry  # other runs do not load it

        return begin_run_telemetry(
            loop, options, version, provider, lambda text: self.notices.say(f"zot: {text}"), send
        )

    def begin_work(self) -> None:
        """Opens the span of a run, or of a prompt of rpc."""
        if self._telemetry is not None:
            self._telemetry.begin()

    def end_work(self, result: events.Result) -> None:
        """Closes the span that `begin_work` has opened."""
        if self._telemetry is not None:
            self._telemetry.end(result)

    def serve_control(self) -> None:
        """Opens the control socket."""
        if (trouble := self._control.start()) is not None:
            self.notices.say(f"zot: {trouble}")

    # --- a prompt that has ended --------------------------------------------------------------------------

    def report_trouble(self, ran: PromptResult) -> None:
        """Tells a person, readers and extensions why the prompt failed. A blocked prompt gets no `error` record: zot's
        readers find the reason in `turn_end`."""
        if not ran.reason:
            return
        if ran.status is Status.BLOCKED:
            if not self.notices.has_told_block(ran.reason):
                self.notices.say(f"zot: {ran.status.value}: {ran.reason}")
            return
        for number, line in enumerate([] if self.notices.is_read else ran.reason.splitlines()):
            self.notices.say(f"     {line}" if number else f"zot: {line}")
        self.event_writer.emit(events.Error(ran.reason))
        if ran.status not in ABORTED:
            self.engine.report_error(ran, self._abort)
        self.engine.supervisor.tell(frames.Event("error", error=ran.reason, error_context=ran.error_context))

    def result(self, ran: PromptResult, duration_s: float, sent: Sequence[events.SentPrompt] = ()) -> events.Result:
        """The `result` record, with what the extensions have cost so far. `sent`: how their prompts have ended."""
        self._learn_use()
        return ran.record(duration_s, self.engine.session.id, self.engine.supervisor.costs(), sent)

    def _learn_use(self) -> None:
        """Asks the host for the run's share of its extensions. An aborted prompt or run waits for nothing more."""
        hosted = self.engine.hosted
        if hosted is not None and not (self._abort.requested or self.event_writer.abort.requested):
            hosted.learn_use()

    # --- the end ------------------------------------------------------------------------------------------

    def end_session(
        self, status: Status, error: str = "", *, by_client: bool = False, within_s: float | None = None
    ) -> None:
        """Asks the guards of the session's end, if it has begun. `by_client`: the client has gone. `within_s`: as with
        `Engine.end_session`."""
        reason = "user_exit" if by_client else ENDS.get(status, "error")
        self.engine.end_session(reason, error if reason == "error" else "", self._abort, within_s)

    def stop(self) -> None:
        """Stops the engine; at once if the abort says so."""
        self._control.wind_down()
        self._learn_use()
        self.engine.stop(at_once=self._abort.at_once)
        if self._telemetry is not None:
            self._telemetry.stopped()
        self._end_alerts()

    def finish_stats(self, result: events.Result) -> None:
        """Writes how the run ended to the stats file and the metrics, to its trace, and to its spans."""
        if self._timeline is not None:
            self._timeline.close(result)
        if self._trace is not None:
            self._trace.close(last_line(result, self.engine.provider_name, self.engine.model))
        self.end_work(result)

    def export_rest(self) -> None:
        """Exports the spans and figures that are left, if the run has any, within two seconds."""
        if self._telemetry is not None:
            self._telemetry.close(at_once=self._abort.at_once)

    def close(self) -> None:
        """Closes the control socket, the session and stderr. To be called last."""
        self._control.close()
        self.engine.close()
        self.notices.close()

    def abandon(self) -> None:
        """Leaves nothing running after a defect of ours."""
        self._abort.at_once = True
        self.stop()
        self._control.close()
        if self._telemetry is not None:
            self._telemetry.close(at_once=True)

    # --- callbacks ----------------------------------------------------------------------------------------

    def _show(self, record: events.Record) -> None:
        """An extension shows something to the user: a note or a panel."""
        self.event_writer.post_shown(record)
        self._control.shown(record)
