"""One headless run from start to end: extensions, model, prompt, and everything stopped again."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent import models
from agent.abort import Abort
from agent.options import SETTLE_S
from agent.output import Output
from agent.reporter import Reporter
from agent.run import Ending, Run
from agent.sessions import SessionFile
from agent.text import valid_text
from agent.timeline import Timeline
from agent.toolbox import Toolbox
from agent.transcript import now
from supervisor.discovery import discover
from supervisor.environment import child_environment
from supervisor.logs import printable
from supervisor.loop import Loop
from supervisor.supervisor import Supervisor
from wire import events
from wire.dialect import HostInfo
from wire.events import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.model.provider import Provider
    from agent.options import Options
    from supervisor.extension import Extension, Kind

_FIGURES = re.compile(r"[\d(]")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Refusal:
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
        make_provider: Callable[[Loop], Provider | Refusal],
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
        self._provider = make_provider(self._loop)
        self._stdout = None if stdout is None else Output(self._loop, stdout, self.stdout_broken)
        self._stderr = Output(self._loop, stderr, _nothing, lossy=True)
        self._on_record = on_record
        self._before_line = before_line
        self._reporter = Reporter(self._loop, self._abort, self._write, self._stdout)
        self._begun = False
        self._said: set[str] = set()
        self._unloaded = ""
        self._session = self._open_session() if options.session else None
        self._session_id = self._session.id if self._session else os.urandom(8).hex()
        self._supervisor = Supervisor(
            self._loop,
            host=HostInfo(version, self._provider_name, options.model, options.cwd),
            logs=options.home / "logs",
            strict_guards=options.strict_guards,
            owns_process=owns_process,
            limits=options.limits,
            reserved_tools=options.tools,
            on_notice=self._notice,
            on_note=self._note,
        )
        self._timeline = Timeline(
            self._supervisor,
            version=version,
            cwd=options.cwd,
            stats_file=options.stats_file,
            metrics_file=options.metrics_file,
            on_error=lambda text: self._say(f"zot: {text}"),
        )
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

    def run(self, prompt: str) -> events.Result:
        """Everything that `--json` prints has been written when this returns; nothing that was started still runs."""
        stoppable = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        with self._loop.signals(stoppable, self._on_signal):
            if self._options.timeout is not None:
                self._loop.call_at(self._started + self._options.timeout, self._on_timeout)
            try:
                run, ending = self._prompt(prompt)
            except BaseException:
                self._abort.at_once = True  # a defect of ours, to be seen as one; but nothing may be left running
                self._stop()
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

    def _prompt(self, prompt: str) -> tuple[Run | None, Ending]:
        provider = self._provider
        if isinstance(provider, Refusal):
            self._begin()
            return None, Ending(provider.status, provider.reason)
        provider.start()
        self._warn_of_retirement()
        self._start_extensions()
        self._settle(provider)
        self._begin()
        if (missing := self._missing_extension()) is not None:
            return None, Ending(Status.REQUIRED_EXTENSION, missing)
        if self._options.strict_guards and self._unloaded:
            return None, Ending(Status.BLOCKED, f"with strict guards every extension must load; {self._unloaded}")
        run = Run(
            self._options,
            supervisor=self._supervisor,
            provider=provider,
            toolbox=self._toolbox,
            reporter=self._reporter,
            session=self._session,
            abort=self._abort,
        )
        return run, run.prompt(prompt)

    def _warn_of_retirement(self) -> None:
        info = models.find(self._options.model)
        if info is not None and info.retires is not None:
            self._say(f"zot: the provider retires {info.id} on {info.retires}; choose another one with --model")

    def _start_extensions(self) -> None:
        options = self._options
        discovery = discover(
            options.extensions,
            _project(options.cwd) if options.discover else None,
            options.home if options.discover else None,
        )
        for skipped in discovery.skipped:
            if skipped.is_error:
                self._unloaded = self._unloaded or f"{skipped.folder.name}: {skipped.reason}"
                self._report(skipped.folder.name, "failed", skipped.reason)
                self._say(f"zot: extension load: {skipped.folder}: {skipped.reason}")
        self._supervisor.start(discovery.found, child_environment())

    def _settle(self, provider: Provider) -> None:
        """The first request waits for extensions no longer than the model takes to get ready anyway, unless asked to.
        Guards are safe either way: a verdict waits for those still starting."""
        wait = self._options.extension_wait
        now_ = self._loop.clock()
        if wait is not None:
            self._supervisor.settle(now_ + wait, self._abort.is_requested)
        elif provider.is_ready:
            self._supervisor.settle(now_ + SETTLE_S, self._abort.is_requested)
        else:
            self._supervisor.settle(now_ + SETTLE_S, lambda: provider.is_ready or self._abort.requested)

    def _missing_extension(self) -> str | None:
        """Waits for those that the run must not do without, and says why one of them is not there."""
        required = [one for one in self._supervisor.extensions if one.manifest.required]
        if not required:
            return None
        latest = max(one.started_at + one.start_s for one in required)
        self._reporter.wait(lambda: all(one.was_ready or one.is_given_up for one in required), latest)
        for one in required:
            if not one.was_ready and not self._abort.requested:
                reason = one.failure or f"not ready within {one.start_s:g} s"
                return f"extension {one.name} is required and could not be started: {reason}"
        return None

    def _begin(self) -> None:
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
        self._begun = True
        for extension in extensions:
            if not extension.state.is_settled:
                self._notice(
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
            self._say(f"zot: {ending.status.value}: {ending.reason}")
            return
        for number, line in enumerate(ending.reason.splitlines()):
            self._say(f"     {line}" if number else f"zot: {line}")
        self._reporter.emit(events.Error(ending.reason))

    def _stop(self) -> None:
        provider = self._provider
        others = [] if isinstance(provider, Refusal) else [*provider.stoppables(), *self._toolbox.stoppables()]
        self._supervisor.stop(others, at_once=self._abort.at_once)

    def _cut_short(self, run: Run | None, ending: Ending, cut: Ending) -> events.Result:
        """The result of a run whose reader was not told all of it: not the success that nobody heard of."""
        if cut.reason and cut != ending:
            self._say(f"zot: {cut.reason}")
        return self._result(run, cut)

    def _result(self, run: Run | None, ending: Ending) -> events.Result:
        totals = run.cumulative if run is not None else events.Totals()
        return events.Result(
            status=ending.status.value,
            exit_code=ending.status.exit_code,
            reason=ending.reason,
            text=run.text if run is not None else "",
            steps=run.steps if run is not None else 0,
            usage=totals,
            cost_usd=totals.cost_usd,
            duration_ms=round((time.monotonic() - self._started) * 1000),
            session=self._session_id,
            extensions=self._supervisor.costs(),
        )

    def _close(self) -> None:
        for error in (self._session and self._session.error, self._provider.error):
            if error:
                self._say(f"zot: {error}")
        if self._session is not None:
            self._session.close()
        self._loop.run_until(lambda: self._stderr.is_flushed, self._loop.clock() + 0.5)
        self._stderr.close()
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

    def _notice(self, extension: Extension, kind: Kind, message: str) -> None:
        if kind == "started" and self._begun:
            kind, message = "late", "ready after the first request; its tools join in the next turn"
        self._report(extension.name, kind, message)
        self._timeline.notice(extension, kind, message)
        if kind != "started" and self._is_news(extension, kind, message):
            self._say(f"zot: extension {extension.name}: {message}")

    def _is_news(self, extension: Extension, kind: Kind, message: str) -> bool:
        """A guard that fails on every call says so once for each way of failing; the stream has each instance."""
        what = message
        if kind == "no_verdict":
            what = _FIGURES.split(message.partition(": ")[2])[0]
        key = f"{extension.name} {kind} {what}"
        known = key in self._said
        self._said.add(key)
        return not known

    def _note(self, extension: Extension, level: str, message: str) -> None:
        self._say(f"[{extension.name}] {level}: {message}")

    def _report(self, name: str, kind: Kind, message: str) -> None:
        self._reporter.post(events.Extension(valid_text(name), kind, valid_text(message)))

    def _say(self, line: str) -> None:
        """One line for a person, on stderr."""
        if self._before_line is not None:
            self._before_line()
        self._stderr.write(printable(line.replace("\n", " ")).encode("utf-8", "replace") + b"\n")

    def _write(self, record: events.Record) -> None:
        self._timeline.seen(record)
        if self._stdout is not None:
            self._stdout.write(events.encode(record))
        if self._on_record is not None:
            self._on_record(record)

    @property
    def _provider_name(self) -> str:
        return "none" if isinstance(self._provider, Refusal) else self._provider.name

    def _open_session(self) -> SessionFile:
        options = self._options
        return SessionFile(
            options.home,
            cwd=options.cwd,
            provider=self._provider_name,
            model=options.model,
            version=self._version,
        )


def _project(cwd: str) -> Path:
    from pathlib import Path

    return Path(cwd)


def _nothing(_reason: str) -> None:
    """Nobody reads stderr any more; the run does not depend on it."""
