"""Runs a command of the `bash` tool behind the prefix of `--in`, and finds out whether the prefix itself has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.confinement import NOT_STARTED
from agent.tools import bash
from agent.tools.shell.command import ShellCommand
from supervisor.loop.future import Failure
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.confinement import Confinement
    from agent.tools.call_end import Done
    from supervisor.loop.loop import Loop
    from wire.trace_context import TraceContext

PROBE = bash.BashCall("true", 60)
"""Ends well behind every prefix that works."""
SHOWN = 300
"""Characters of the prefix's own words."""


class ConfinedCommand:
    """One command. If it ends as a prefix does that cannot start it, `true` runs in the same way before `done` is
    called; if that fails, too, `confinement.on_failure` gets the reason. `on_started` gets each shell command, which is
    to be stopped with the run."""

    def __init__(
        self,
        loop: Loop,
        call: bash.BashCall,
        confinement: Confinement,
        *,
        cwd: str,
        on_progress: Callable[[str], None],
        done: Done,
        on_started: Callable[[ShellCommand], None],
        context: TraceContext | None = None,
    ) -> None:
        self._loop = loop
        self._confinement = confinement
        self._cwd = cwd
        self._done = done
        self._on_started = on_started
        self._context = context
        self._command: ShellCommand | None = None
        """The command, and then the probe; None while it is starting."""
        self._result: tuple[str, bool, Failure | None] = "", True, None
        """Of the command."""
        self._start(call, on_progress, self._ended)

    def cancel(self, reason: str = "") -> None:
        """Ends it early."""
        if self._command is not None:
            self._command.cancel(reason)

    def _start(self, call: bash.BashCall, on_progress: Callable[[str], None], done: Done) -> None:
        self._command = None
        command = ShellCommand(
            self._loop, call, cwd=self._cwd, logs=None, on_progress=on_progress, done=done,
            confinement=self._confinement, context=self._context,
        )  # fmt: skip
        self._command = command
        self._on_started(command)

    def _ended(self, text: str, is_error: bool, failure: Failure | None = None) -> None:
        self._result = text, is_error, failure
        child = None if self._command is None else self._command.child
        if child is None:  # the program of the prefix cannot be started
            self._probed(text, is_error=True)
        elif failure is None and child.exit is not None and child.exit.code in NOT_STARTED:
            self._start(PROBE, lambda _text: None, self._probed)
        else:
            self._done(*self._result)

    def _probed(self, text: str, is_error: bool, failure: Failure | None = None) -> None:
        if is_error and failure is not Failure.CANCELLED:
            self._confinement.on_failure(f"--in: {_words(text)}")
        self._done(*self._result)


def _words(result: str) -> str:
    """The exit status and the last line of a command's result, or why it could not be started."""
    lines = [line for line in result.splitlines() if line.strip()]
    if not lines or not lines[-1].startswith("[exit "):
        return one_line(result.removeprefix("bash: "), SHOWN)
    status = lines[-1][1:].partition("]")[0]
    return f"{status}: {one_line(lines[-2], SHOWN)}" if len(lines) > 2 else status
