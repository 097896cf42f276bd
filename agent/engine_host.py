"""The host of an engine: what a process has around it, whoever sends the prompts.

Notices on stderr, the control socket, the stats file and the metrics, and how a prompt is reported that has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.engine import Engine
from agent.output.event_writer import EventWriter
from agent.output.result_record import result_record
from agent.output.stats_timeline import Timeline
from agent.output.stderr_notices import StderrNotices
from supervisor.control.server import ControlServer
from supervisor.home.runtime_dir import runtime_dir
from wire import events, frames
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.abort import Abort
    from agent.model.provider import Provider, ProviderUnavailable
    from agent.options import Options
    from agent.output.fd_writer import FdWriter
    from agent.prompt_result import PromptResult
    from agent.sessions.opening import Opened
    from agent.transcript import ToolResult
    from supervisor.loop.loop import Loop, Timestamp
    from wire.frames import SessionEnd


ENDS: dict[Status, SessionEnd] = {Status.OK: "complete", Status.INTERRUPTED: "abort", Status.TIMEOUT: "timeout"}
"""Why a session ends; with any other status because of an error."""
ABORTED = (Status.INTERRUPTED, Status.TIMEOUT)


class EngineHost:
    """An engine and its surroundings. `abort` ends the whole run; `zot stop` requests it, too. `sink` gets every
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
        sink: Callable[[events.Record], None],
        output: FdWriter | None,
        before_line: Callable[[], None] | None = None,
        owns_process: bool = True,
        stderr: int = 2,
        session: Opened | None = None,
    ) -> None:
        self._abort = abort
        self._sink = sink
        self.event_writer = EventWriter(loop, abort, self._write, output)
        self.notices = StderrNotices(loop, self.event_writer, stderr=stderr, before_line=before_line)
        self.engine = Engine(
            loop,
            options,
            version=version,
            provider=provider,
            event_writer=self.event_writer,
            notices=self.notices,
            on_show=self._show,
            on_tool_ran=self._tool_ran,
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
        self._timeline = Timeline(
            self.engine.supervisor,
            version=version,
            cwd=options.cwd,
            stats_file=options.stats_file,
            metrics_file=options.metrics_file,
            openmetrics=options.openmetrics,
            on_error=lambda text: self.notices.say(f"zot: {text}"),
        )
        self.notices.followers += [
            self._timeline.notice,
            lambda extension, kind, message: self._control.notice(extension.name, kind, message),
        ]

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
        for number, line in enumerate(ran.reason.splitlines()):
            self.notices.say(f"     {line}" if number else f"zot: {line}")
        self.event_writer.emit(events.Error(ran.reason))
        if ran.status not in ABORTED:
            self.engine.report_error(ran, self._abort)
        self.engine.supervisor.tell(frames.Event("error", error=ran.reason, error_context=ran.error_context))

    def result(self, ran: PromptResult, duration_s: float, sent: Sequence[events.SentPrompt] = ()) -> events.Result:
        """The `result` record, with what the extensions have cost so far. `sent`: how their prompts have ended."""
        return result_record(
            ran.status,
            ran.reason,
            text=ran.text,
            answer=ran.answer,
            steps=ran.steps,
            usage=ran.usage,
            duration_s=duration_s,
            session=self.engine.session.id,
            extensions=self.engine.supervisor.costs(),
            sent=sent,
            error_kind=ran.error_kind,
        )

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
        self.engine.stop(at_once=self._abort.at_once)

    def finish_stats(self, result: events.Result) -> None:
        """Writes how the run ended to the stats file and the metrics."""
        self._timeline.close(result)

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

    # --- callbacks ----------------------------------------------------------------------------------------

    def _show(self, record: events.Record) -> None:
        """An extension shows something to the user: a note or a panel."""
        self.event_writer.post_shown(record)
        self._control.shown(record)

    def _tool_ran(self, tool: str, extension: str, began: Timestamp, result: ToolResult) -> None:
        self._timeline.tool_ran(tool, extension, began, result)

    def _write(self, record: events.Record) -> None:
        self._timeline.seen(record)
        self._sink(record)
