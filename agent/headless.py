"""One headless run: records on stdout, notices on stderr, signals and the timeout, and a result with an exit code."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.abort import Abort
from agent.engine import Engine
from agent.output.event_writer import EventWriter
from agent.output.fd_writer import FdWriter
from agent.output.result_record import result_record
from agent.output.stats_timeline import Timeline
from agent.output.stderr_notices import StderrNotices
from agent.run.slash_commands import parse
from supervisor.control.server import ControlServer
from supervisor.home.runtime_dir import runtime_dir
from supervisor.loop.loop import Loop
from wire import events, frames
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.engine import PromptResult
    from agent.model.provider import Provider, ProviderUnavailable
    from agent.options import Options
    from agent.transcript import ToolResult
    from supervisor.loop.timestamp import Timestamp

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Headless:
    """Runs one prompt. `on_record` gets every record. With `stdout`, a descriptor, the records are also written to it.

    `before_line` is called before a line goes to `stderr`.

    Stops at SIGINT, SIGTERM and SIGHUP with a complete stream; a second signal kills all children at once. With
    `stdout` and `owns_process`, the process ignores these signals once the stream is complete: it is about to end.
    """

    def __init__(
        self,
        options: Options,
        *,
        version: str,
        make_provider: Callable[[Loop], Provider | ProviderUnavailable],
        on_record: Callable[[events.Record], None] | None = None,
        before_line: Callable[[], None] | None = None,
        owns_process: bool = True,
        stdout: int | None = None,
        stderr: int = 2,
    ) -> None:
        self.has_answer = False
        """After `run`: whether the text of the result is an answer, as in `PromptResult`."""
        self._options = options
        self._owns_process = owns_process
        self._started = time.monotonic()
        self._loop = Loop()
        self._abort = Abort()
        provider = make_provider(self._loop)
        self._stdout = None if stdout is None else FdWriter(self._loop, stdout, self.stdout_broken)
        self._on_record = on_record
        self._event_writer = EventWriter(self._loop, self._abort, self._write, self._stdout)
        self._notices = StderrNotices(self._loop, self._event_writer, stderr=stderr, before_line=before_line)
        self._engine = Engine(
            self._loop,
            options,
            version=version,
            provider=provider,
            event_writer=self._event_writer,
            notices=self._notices,
            on_show=self._show,
            on_tool_ran=self._tool_ran,
            owns_process=owns_process,
        )
        self._control = ControlServer(
            self._loop,
            self._engine.supervisor,
            self._engine.reloader,
            kind="run",
            version=version,
            cwd=options.cwd,
            runtime_dir=runtime_dir(options.home),
            on_stop=lambda: self._abort.request(Status.INTERRUPTED, "stopped by zot stop"),
        )
        self._timeline = Timeline(
            self._engine.supervisor,
            version=version,
            cwd=options.cwd,
            stats_file=options.stats_file,
            metrics_file=options.metrics_file,
            openmetrics=options.openmetrics,
            on_error=lambda text: self._notices.say(f"zot: {text}"),
        )
        self._notices.followers += [
            self._timeline.notice,
            lambda extension, kind, message: self._control.notice(extension.name, kind, message),
        ]

    def run(self, prompt: str, *, literal: bool = False) -> events.Result:
        """Runs the prompt and returns its result. By then every record is written, and every process that the run has
        started has ended. A prompt like `/name args` runs a command of an extension, unless `literal` is set."""
        command = None if literal else parse(prompt)
        stoppable = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        # A signal after the last record must not make the exit status another than the one in the result.
        ignored = self._owns_process and self._stdout is not None
        with self._loop.signals(stoppable, self._on_signal, ignored_afterwards=ignored):
            if self._options.timeout is not None:
                self._loop.call_at(self._started + self._options.timeout, self._on_timeout)
            if (trouble := self._control.start()) is not None:
                self._notices.say(f"zot: {trouble}")
            try:
                ran = self._engine.start(self._abort, command) or self._engine.prompt(prompt, self._abort, command)
            except BaseException:
                self._abort.at_once = True  # a defect of ours: show it, but leave nothing running
                self._stop()
                self._control.close()
                raise
            self._report_trouble(ran)
            self._stop()
            result = self._result(ran)
            self.has_answer = ran.has_answer
            self._event_writer.emit(result)
            self._event_writer.emit(events.Done())
            if not self._event_writer.finish() and self._abort.status is not None:
                result = self._cut_short(ran, self._abort.status, self._abort.reason)
            self._timeline.close(result)
        self._close()
        return result

    # --- the end ------------------------------------------------------------------------------------------

    def _report_trouble(self, ran: PromptResult) -> None:
        """Tells a person why the prompt failed. A blocked prompt gets no `error` record: zot's readers find the reason
        in `turn_end`."""
        if not ran.reason:
            return
        if ran.status is Status.BLOCKED:
            if not self._notices.has_told_block(ran.reason):
                self._notices.say(f"zot: {ran.status.value}: {ran.reason}")
            return
        for number, line in enumerate(ran.reason.splitlines()):
            self._notices.say(f"     {line}" if number else f"zot: {line}")
        self._event_writer.emit(events.Error(ran.reason))
        self._engine.supervisor.tell(frames.Event("error", error=ran.reason))

    def _stop(self) -> None:
        self._control.wind_down()
        self._engine.stop(at_once=self._abort.at_once)

    def _cut_short(self, ran: PromptResult, status: Status, reason: str) -> events.Result:
        """The result when the reader did not get every record. It is never a success."""
        if reason and (status, reason) != (ran.status, ran.reason):
            self._notices.say(f"zot: {reason}")
        return self._result(replace(ran, status=status, reason=reason))

    def _result(self, ran: PromptResult) -> events.Result:
        return result_record(
            ran.status,
            ran.reason,
            text=ran.text,
            steps=ran.steps,
            usage=ran.usage,
            duration_s=time.monotonic() - self._started,
            session=self._engine.session_id,
            extensions=self._engine.supervisor.costs(),
        )

    def _close(self) -> None:
        self._control.close()
        self._engine.close()
        self._notices.close()
        if self._stdout is not None:
            self._stdout.close()
        self._loop.close()

    # --- callbacks of the loop ----------------------------------------------------------------------------

    def _on_signal(self, number: signal.Signals) -> None:
        if not self._abort.requested:
            self._abort.request(Status.INTERRUPTED, f"interrupted by {number.name}")
            return
        self._abort.at_once = True
        self._engine.kill_now()

    def _on_timeout(self) -> None:
        self._abort.request(Status.TIMEOUT, f"timeout: the run took longer than {self._options.timeout:g} s")

    def stdout_broken(self, reason: str) -> None:
        """Ends the run with status `error` and this reason. An empty reason means that the reader left; the run then
        ends as interrupted, without a message."""
        if reason:
            self._abort.request(Status.ERROR, f"cannot write to stdout: {reason}")
        else:
            self._abort.request(Status.INTERRUPTED, "")

    def _show(self, record: events.Record) -> None:
        """An extension shows something to the user: a note or a panel."""
        self._event_writer.post_shown(record)
        self._control.shown(record)

    def _tool_ran(self, tool: str, extension: str, began: Timestamp, result: ToolResult) -> None:
        self._timeline.tool_ran(tool, extension, began, result)

    def _write(self, record: events.Record) -> None:
        self._timeline.seen(record)
        if self._stdout is not None:
            self._stdout.write(events.encode(record))
        if self._on_record is not None:
            self._on_record(record)
