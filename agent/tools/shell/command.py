"""Runs one command of the `bash` tool as a child of the loop, with a timeout, progress and a full log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.confinement import shell_argv
from agent.tools import bash
from agent.tools.shell.full_log import FullLog
from agent.tools.shell.output_window import OutputWindow
from supervisor.discovery.environment import child_environment
from supervisor.extension.connection.pending_requests import PROGRESS_BURST, PROGRESS_LENGTH, PROGRESS_PER_SECOND
from supervisor.loop.future import Failure
from supervisor.loop.rate_limit import TokenBucket
from supervisor.process.child import Child, SpawnError
from supervisor.process.stop_policy import Patience
from supervisor.process.teardown import Teardown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.confinement import Confinement
    from agent.tools.call_end import Done
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import ExitStatus
    from wire.trace_context import TraceContext

KILL = Patience(hint=0.0, ask=0.0, term=2.0)
"""At its timeout a command gets SIGTERM and, 2 s later, SIGKILL, with all its descendants."""


class ShellCommand:
    """One shell command, started at once. `done` is called once, perhaps at once.

    The call is over when the shell exits, even if background processes still hold its output open. These processes run
    on until the end of the run; their output is read and dropped. At its timeout, or when it is cancelled, the command
    is ended with all its descendants, and then it is over.
    """

    def __init__(
        self,
        loop: Loop,
        call: bash.BashCall,
        *,
        cwd: str,
        logs: Path | None,
        on_progress: Callable[[str], None],
        done: Done,
        confinement: Confinement | None = None,
        context: TraceContext | None = None,
    ) -> None:
        """Without `logs`, the folder of full logs, none is kept: no tool of a confined run could read it. `context` is
        the span of the call, for the environment; None: the command has the variables of the run."""
        self._loop = loop
        self._call = call
        self._done = done
        self._window = OutputWindow()
        self._log = None if logs is None else FullLog(logs)
        self._progress = Progress(loop, on_progress)
        self._started = loop.clock()
        self._has_exited = False
        """Whether the shell has exited: later output is not the command's."""
        self.is_over = False
        self.child: Child | None = None
        self._teardown: Teardown | None = None
        """Ends the command early."""
        self._timed_out = self._cancelled = False
        argv, folder = shell_argv(call.command, cwd, confinement)
        try:
            self.child = Child(
                loop,
                argv,
                cwd=folder,
                env=child_environment() if context is None else context.added_to(child_environment()),
                stdin=False,
                on_stdout=self._on_output,
                on_exit=self._on_exit,
                linger=True,
            )
        except SpawnError as error:
            self.is_over = True
            done(f"bash: {error}", True)
            return
        self._timeout = loop.call_later(call.timeout_s, self._on_timeout)

    def cancel(self, _reason: str = "") -> None:
        """Ends the command early. Does nothing if it is over, or ending already."""
        if not self.is_over and self._teardown is None:
            self._cancelled = True
            self._end_early()

    def ask_to_stop(self) -> None:
        """Does nothing: a shell command cannot be asked, only signalled."""

    def hint_to_stop(self) -> None:
        pass

    def _on_timeout(self) -> None:
        if self._teardown is None:
            self._timed_out = True
            self._end_early()

    def _end_early(self) -> None:
        self._teardown = Teardown(self._loop, [self], patience=KILL, on_over=self._end)

    def _end(self) -> None:
        assert self.child is not None
        self._timeout.cancel()
        if self._log is not None:
            self._log.close()
        status = self.child.exit
        ended = bash.ShellExit(
            returncode=status.code if status is not None else -9,
            duration_s=self._loop.clock() - self._started,
            timed_out_after_s=self._call.timeout_s if self._timed_out else None,
            cancelled=self._cancelled,
        )
        log = None if self._log is None else self._log.path
        text = bash.result_text(self._call.command, self._window.tail(), ended, log)
        self._window = OutputWindow()  # the toolbox keeps the command, whose background processes may live on
        self.is_over = True
        failure = Failure.TIMEOUT if self._timed_out else Failure.CANCELLED if self._cancelled else None
        self._done(text, ended.is_error, failure)

    def _on_output(self, data: bytes) -> None:
        if self._has_exited or self.is_over:
            return
        if self._log is not None:
            self._log.feed(data)
        self._progress.add(self._window.feed(data))

    def _on_exit(self, _status: ExitStatus) -> None:
        self._has_exited = True
        self._progress.end()
        if self._teardown is None:
            self._end()
        else:
            self._teardown.hurry()


def log_folder() -> Path:
    """The folder of full logs: the temporary directory. The logs outlive the run: the model may read them later."""
    import tempfile
    from pathlib import Path

    return Path(os.environ.get("TMPDIR") or tempfile.gettempdir())


class Progress:
    """Passes on a burst of `PROGRESS_BURST` pieces at once and then `PROGRESS_PER_SECOND` a second, each of at most
    `PROGRESS_LENGTH` characters of output. Faster output waits; if more waits than fits into one piece, its beginning
    is dropped, and the piece begins with a line with the number of dropped characters."""

    def __init__(self, loop: Loop, show: Callable[[str], None]) -> None:
        self._loop = loop
        self._show = show
        self._gate = TokenBucket(loop.clock(), PROGRESS_BURST, PROGRESS_PER_SECOND)
        self._waiting = ""
        self._dropped = 0
        """The characters dropped since the last piece."""
        self._timer: Timer | None = None

    def add(self, text: str) -> None:
        """Takes the next output of the command."""
        self._waiting += text
        if self._timer is None:
            self._show_what_may_pass()
        if (over := len(self._waiting) - PROGRESS_LENGTH) > 0:
            self._dropped += over
            self._waiting = self._waiting[over:]

    def end(self) -> None:
        """Shows the waiting output. Nothing may be added afterwards."""
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting:
            self._show_piece()

    def _show_what_may_pass(self) -> None:
        self._timer = None
        while self._waiting:
            if not self._gate.admits(self._loop.clock()):
                self._timer = self._loop.call_at(self._gate.next_at(), self._show_what_may_pass)
                return
            self._show_piece()

    def _show_piece(self) -> None:
        piece, self._waiting = self._waiting[:PROGRESS_LENGTH], self._waiting[PROGRESS_LENGTH:]
        dropped, self._dropped = self._dropped, 0
        self._show(f"... [{dropped} characters are not shown]\n{piece}" if dropped else piece)
