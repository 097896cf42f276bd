"""One headless run: records on stdout, notices on stderr, signals and the timeout, and a result with an exit code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.abort import Abort
from agent.engine.host import EngineHost
from agent.engine.sent_runs import SentRuns
from agent.output.fd_writer import FdWriter
from agent.run.slash_commands import parse
from supervisor.loop.loop import Loop, stop_signals
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence

    from agent.engine.prompt_result import PromptResult
    from agent.model.provider import Provider, ProviderUnavailable
    from agent.options import Options
    from agent.sessions.choice import OpenedSession
    from agent.transcript import Image


class Headless:
    """Runs one prompt, and those that extensions send meanwhile. The `readers` get every record. With `stdout`, a
    descriptor, the records are also written to it.

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
        session: OpenedSession | None = None,
        readers: Sequence[Callable[[events.Record], None]] = (),
        before_line: Callable[[], None] | None = None,
        owns_process: bool = True,
        stdout: int | None = None,
        stderr: int = 2,
        end_within_s: float | None = None,
        send_spans: Callable[[bytes], None] | None = None,
    ) -> None:
        """`end_within_s`: seconds that the guards of the session's end have together; None: each its own timeout.
        `send_spans`: as with `EngineHost`."""
        self.has_answer = False
        """After `run`: whether the text of the result is an answer, as in `PromptResult`."""
        self.may_pass = False
        """After `run`: as in `PromptResult`."""
        self._options = options
        self._owns_process = owns_process
        self._end_within_s = end_within_s
        self._started = time.monotonic()
        self._loop = Loop()
        self._abort = Abort()
        provider = make_provider(self._loop)
        self._stdout = None if stdout is None else FdWriter(self._loop, stdout, self.stdout_broken)
        self._host = EngineHost(
            self._loop,
            options,
            version=version,
            provider=provider,
            abort=self._abort,
            readers=readers if self._stdout is None else (self._write, *readers),
            output=self._stdout,
            before_line=before_line,
            owns_process=owns_process,
            stderr=stderr,
            session=session,
            send_spans=send_spans,
        )
        self._sent = SentRuns(self._host, self._abort)

    def run(
        self,
        prompt: str,
        *,
        literal: bool = False,
        images: tuple[Image, ...] = (),
        on_result: Callable[[events.Result], None] | None = None,
    ) -> events.Result:
        """Runs the prompt with these images and returns its result. By then every record is written, and every process
        that the run has started has ended. A prompt like `/name args` runs a command of an extension, unless `literal`
        is set. `on_result` gets the result before the rest of the spans is exported, which may take two seconds."""
        command = None if literal else parse(prompt)
        host, engine = self._host, self._host.engine
        # A signal after the last record must not make the exit status another than the one in the result.
        ignored = self._owns_process and self._stdout is not None
        with self._loop.signals(stop_signals(), self._on_signal, ignored_afterwards=ignored):
            if self._options.timeout is not None:
                self._loop.call_at(self._started + self._options.timeout, self._on_timeout)
            host.begin_work()
            host.serve_control()
            try:
                failed = engine.start(self._abort, command)
                if failed is None and command is None:
                    engine.tell_submitted(prompt, len(images))
                ran = failed or engine.prompt(prompt, self._abort, command, images)
                host.report_trouble(ran)
                ran = self._sent.run(ran, command)
            except BaseException:
                host.abandon()
                raise
            host.end_session(ran.status, ran.reason, within_s=self._end_within_s)
            host.stop()
            result = self._result(ran)
            self.has_answer, self.may_pass = ran.has_answer, ran.may_pass
            host.event_writer.emit(result)
            host.event_writer.emit(events.Done())
            if not host.event_writer.finish() and self._abort.status is not None:
                result = self._cut_short(ran, self._abort.status, self._abort.reason)
            host.finish_stats(result)
            if on_result is not None:
                on_result(result)
            host.export_rest()
        host.close()
        if self._stdout is not None:
            self._stdout.close()
        self._loop.close()
        return result

    def _cut_short(self, ran: PromptResult, status: Status, reason: str) -> events.Result:
        """The result when the reader did not get every record. It is never a success."""
        if reason and (status, reason) != (ran.status, ran.reason):
            self._host.notices.say(f"zot: {reason}")
        return self._result(replace(ran, status=status, reason=reason, error_kind=""))

    def _result(self, ran: PromptResult) -> events.Result:
        return self._host.result(ran, time.monotonic() - self._started, self._sent.ended)

    # --- callbacks of the loop ----------------------------------------------------------------------------

    def _on_signal(self, number: signal.Signals) -> None:
        self.end(Status.INTERRUPTED, f"interrupted by {number.name}", at_once=self._abort.requested)

    def _on_timeout(self) -> None:
        self._abort.request(Status.TIMEOUT, f"timeout: the run took longer than {self._options.timeout:g} s")

    def end(self, status: Status, reason: str, *, at_once: bool = False) -> None:
        """Ends the run early, with a whole stream; for callbacks of the loop. With `at_once` its children are killed
        without being asked."""
        self._abort.request(status, reason)
        if at_once:
            self._abort.at_once = True
            self._host.engine.kill_now()

    def stdout_broken(self, reason: str) -> None:
        """Ends the run with status `error` and this reason. An empty reason means that the reader left; the run then
        ends as interrupted, without a message."""
        if reason:
            self._abort.request(Status.ERROR, f"cannot write to stdout: {reason}")
        else:
            self._abort.request(Status.INTERRUPTED, "")

    def _write(self, record: events.Record) -> None:
        assert self._stdout is not None
        self._stdout.write(events.encode(record))
