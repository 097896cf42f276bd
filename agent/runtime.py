"""One headless run from start to end: extensions, model, prompt, and everything stopped again."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent import extensions as starting
from agent.abort import Abort
from agent.model import catalogue
from agent.output.event_writer import EventWriter
from agent.output.fd_writer import FdWriter
from agent.output.stats_timeline import Timeline
from agent.output.stderr_notices import StderrNotices
from agent.run.run import Ending, Run
from agent.run.slash_commands import Commands, Invocation, parse
from agent.sessions.file import SessionFile
from agent.tools.toolbox import Toolbox
from agent.transcript import now
from supervisor.control.server import ControlServer
from supervisor.home.runtime_dir import runtime_dir
from supervisor.loop.loop import Loop
from supervisor.supervisor import Supervisor
from wire import events, frames
from wire.dialects.base import HostInfo
from wire.events import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.model.provider import Provider
    from agent.options import Options

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class ProviderUnavailable:
    """A run that cannot even begin: no credential, a cassette that cannot be read."""

    status: Status
    reason: str
    error: str | None = None


class Headless:
    """Runs one prompt. `write_record` gets every record; with `stdout` they are also the process's output.

    `before_line` is called before a line goes to stderr.

    Stops at SIGINT, SIGTERM and SIGHUP with a complete stream; a second one kills what is still there at once.
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
        self._options = options
        self._version = version
        self._started = time.monotonic()
        self._loop = Loop()
        self._abort = Abort()
        self._shown = ""
        """What a command wants printed in place of an answer."""
        self._wanted_all = True
        """Whether all extensions were to take part; a command needs only its own."""
        self._provider = make_provider(self._loop)
        self._stdout = None if stdout is None else FdWriter(self._loop, stdout, self.stdout_broken)
        self._on_record = on_record
        self._reporter = EventWriter(self._loop, self._abort, self._write, self._stdout)
        self._news = StderrNotices(self._loop, self._reporter, stderr=stderr, before_line=before_line)
        self._session = self._open_session() if options.session else None
        self._session_id = self._session.id if self._session else os.urandom(8).hex()
        self._supervisor = Supervisor(
            self._loop,
            host=HostInfo(version, self._provider_name, options.model, options.cwd),
            logs=options.home / "logs",
            strict_guards=options.strict_guards,
            owns_process=owns_process,
            limits=options.limits,
            runtime_folder=runtime_dir(options.home),
            say=lambda line: self._news.say(f"zot: {line}"),
            reserved_tools=options.tools,
            on_notice=self._news.notice,
            on_note=self._news.note,
            on_show=self._show,
        )
        self._reloader = starting.make_reloader(options, self._supervisor)
        self._control = ControlServer(
            self._loop,
            self._supervisor,
            self._reloader,
            kind="run",
            version=version,
            cwd=options.cwd,
            runtime_dir=runtime_dir(options.home),
            on_stop=lambda: self._abort.request(Status.INTERRUPTED, "stopped by zot stop"),
        )
        self._timeline = Timeline(
            self._supervisor,
            version=version,
            cwd=options.cwd,
            stats_file=options.stats_file,
            metrics_file=options.metrics_file,
            on_error=lambda text: self._news.say(f"zot: {text}"),
        )
        self._news.followers += [
            self._timeline.notice,
            lambda extension, kind, message: self._control.notice(extension.name, kind, message),
        ]
        self._toolbox = Toolbox(
            self._loop,
            self._supervisor,
            self._abort,
            cwd=options.cwd,
            enabled=options.tools,
            on_progress=lambda call_id, text: self._reporter.post_progress(events.ToolProgress(call_id, text)),
            on_ran=self._timeline.tool_ran,
        )
        self._abort.on_request(self._supervisor.cancel_pending)

    def run(self, prompt: str, *, literal: bool = False) -> events.Result:
        """A prompt like `/name args` runs a command of an extension, unless it is `literal`. Everything that `--json`
        prints has been written when this returns; nothing that was started still runs."""
        command = None if literal else parse(prompt)
        stoppable = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        with self._loop.signals(stoppable, self._on_signal):
            if self._options.timeout is not None:
                self._loop.call_at(self._started + self._options.timeout, self._on_timeout)
            if (trouble := self._control.start()) is not None:
                self._news.say(f"zot: {trouble}")
            try:
                run, ending = self._prompt(prompt, command)
            except BaseException:
                self._abort.at_once = True  # a defect of ours, to be seen as one; but nothing may be left running
                self._stop()
                self._control.close()
                raise
            self._report_trouble(ending)
            self._stop()
            self._timeline.close()
            result = self._result(run, ending)
            self._reporter.emit(result)
            self._reporter.emit(events.Done())
            if not self._reporter.finish() and self._abort.status is not None:
                result = self._cut_short(run, ending, Ending(self._abort.status, self._abort.reason))
        self._close()
        return result

    # --- phases -------------------------------------------------------------------------------------------

    def _prompt(self, prompt: str, command: Invocation | None) -> tuple[Run | None, Ending]:
        if command is None and isinstance(self._provider, ProviderUnavailable):
            self._begin()
            return None, Ending(self._provider.status, self._provider.reason)
        ending = self._start(command)
        if ending is not None:
            return None, ending
        if command is not None:
            outcome = Commands(self._supervisor, self._reporter, self._abort).run(command)
            if outcome.prompt is None:
                self._shown = outcome.text
                self._wanted_all = False
                return None, Ending(outcome.status, outcome.reason)
            prompt = outcome.prompt
        if isinstance(self._provider, ProviderUnavailable):
            return None, Ending(self._provider.status, self._provider.reason)
        if command is not None:
            self._start_model(self._provider)
            starting.settle(self._options, self._supervisor, self._provider, self._abort)
            self._news.has_begun = True
        self._supervisor.panels.begin_prompt()
        run = Run(
            self._options,
            supervisor=self._supervisor,
            provider=self._provider,
            toolbox=self._toolbox,
            reporter=self._reporter,
            session=self._session,
            abort=self._abort,
        )
        return run, run.prompt(prompt)

    def _start(self, command: Invocation | None) -> Ending | None:
        """Starts the extensions and the model, side by side. A command may turn out to need no model, so that one is
        not started before it is known. Returns why the run is over already, if it is."""
        found = starting.find_extensions(self._options)
        self._supervisor.prepare()
        provider = None if command is not None or isinstance(self._provider, ProviderUnavailable) else self._provider
        if provider is not None:
            self._start_model(provider)
        unloaded = starting.start_extensions(found, self._supervisor, self._reloader, self._news)
        if provider is not None:
            starting.settle(self._options, self._supervisor, provider, self._abort)
        elif command is not None:
            starting.settle_for(command.name, self._supervisor, self._abort)
        self._begin(late=command is None)
        missing = found.missing or starting.missing_extension(self._supervisor, self._reporter, self._abort)
        if missing is not None:
            return Ending(Status.REQUIRED_EXTENSION, missing)
        if self._options.strict_guards and unloaded:
            return Ending(Status.BLOCKED, f"with strict guards every extension must load; {unloaded}")
        return None

    def _start_model(self, provider: Provider) -> None:
        provider.start()
        self._warn_of_retirement()

    def _warn_of_retirement(self) -> None:
        info = catalogue.find(self._options.model)
        if info is not None and info.retires is not None:
            self._news.say(f"zot: the provider retires {info.id} on {info.retires}; choose another one with --model")

    def _begin(self, *, late: bool = True) -> None:
        """With `late`, who is still starting is told of."""
        extensions = self._supervisor.extensions
        self._reporter.begin(
            events.Session(
                schema_version=events.SCHEMA_VERSION,
                zot_version=self._version,
                id=self._session_id,
                provider=self._provider_name,
                model=self._options.model,
                cwd=self._options.cwd,
                extensions=tuple(extension.name for extension in extensions),
                time=now(),
            )
        )
        self._news.has_begun = late
        for extension in extensions:
            if late and not extension.state.is_settled:
                self._news.notice(
                    extension,
                    "late",
                    "still starting; the run goes on, and its tools join in the turn after it is ready",
                )
        self._supervisor.begin_session()

    def _report_trouble(self, ending: Ending) -> None:
        """A blocked run is no error: zot's readers find the reason in its `turn_end`. A person is told either way."""
        if not ending.reason:
            return
        if ending.status is Status.BLOCKED:
            self._news.say(f"zot: {ending.status.value}: {ending.reason}")
            return
        for number, line in enumerate(ending.reason.splitlines()):
            self._news.say(f"     {line}" if number else f"zot: {line}")
        self._reporter.emit(events.Error(ending.reason))
        self._supervisor.tell(frames.Event("error", error=ending.reason))

    def _stop(self) -> None:
        self._control.wind_down()
        provider = self._provider
        others = (
            [] if isinstance(provider, ProviderUnavailable) else [*provider.stoppables(), *self._toolbox.stoppables()]
        )
        self._supervisor.stop(others, at_once=self._abort.at_once, wanted_all=self._wanted_all)

    def _cut_short(self, run: Run | None, ending: Ending, cut: Ending) -> events.Result:
        """The result of a run whose reader was not told all of it: not the success that nobody heard of."""
        if cut.reason and cut != ending:
            self._news.say(f"zot: {cut.reason}")
        return self._result(run, cut)

    def _result(self, run: Run | None, ending: Ending) -> events.Result:
        totals = run.cumulative if run is not None else events.Totals()
        return events.Result(
            status=ending.status.value,
            exit_code=ending.status.exit_code,
            reason=ending.reason,
            text=run.text if run is not None else self._shown,
            steps=run.steps if run is not None else 0,
            usage=totals,
            cost_usd=totals.cost_usd,
            duration_ms=round((time.monotonic() - self._started) * 1000),
            session=self._session_id,
            extensions=self._supervisor.costs(),
        )

    def _close(self) -> None:
        self._control.close()
        for error in (self._session and self._session.error, self._provider.error):
            if error:
                self._news.say(f"zot: {error}")
        if self._session is not None:
            self._session.close()
        self._news.close()
        if self._stdout is not None:
            self._stdout.close()
        self._loop.close()

    # --- what comes from elsewhere ------------------------------------------------------------------------

    def _on_signal(self, number: signal.Signals) -> None:
        if not self._abort.requested:
            self._abort.request(Status.INTERRUPTED, f"interrupted by {number.name}")
            return
        self._abort.at_once = True
        self._supervisor.kill_now()
        self._toolbox.kill_now()

    def _on_timeout(self) -> None:
        self._abort.request(Status.TIMEOUT, f"timeout: the run took longer than {self._options.timeout:g} s")

    def stdout_broken(self, reason: str) -> None:
        """A reader that leaves has heard enough, and is told nothing more."""
        if reason:
            self._abort.request(Status.ERROR, f"cannot write to stdout: {reason}")
        else:
            self._abort.request(Status.INTERRUPTED, "")

    def _show(self, record: events.Record) -> None:
        """Something that an extension puts before the user."""
        self._reporter.post_shown(record)
        self._control.shown(record)

    def _write(self, record: events.Record) -> None:
        self._timeline.seen(record)
        if self._stdout is not None:
            self._stdout.write(events.encode(record))
        if self._on_record is not None:
            self._on_record(record)

    @property
    def _provider_name(self) -> str:
        return "none" if isinstance(self._provider, ProviderUnavailable) else self._provider.name

    def _open_session(self) -> SessionFile:
        options = self._options
        return SessionFile(
            options.home,
            cwd=options.cwd,
            provider=self._provider_name,
            model=options.model,
            version=self._version,
        )
