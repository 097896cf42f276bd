"""Carries out the commands of a task: `setup`, `check` and `score`."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from agent.confinement import shell_argv
from agent.tools.shell.command import KILL
from supervisor.discovery.environment import child_environment
from supervisor.process.child import Child, SpawnError
from supervisor.process.teardown import stop_all
from wire.batch.outcome import CommandEnd
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent.confinement import Confinement
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus

OUTPUT_KEPT = 4096
"""Bytes of the output: the last ones."""
TIMEOUT_S = 600.0
"""Seconds that a command may take, unless the caller says otherwise."""
CANNOT_START = 127
"""The exit status of a command that could not be started, as a shell has it."""
SHOWN = 200
"""Characters of the last line of the output, in a reason."""


def run_command(
    loop: Loop,
    command: str,
    *,
    cwd: str,
    timeout_s: float = TIMEOUT_S,
    env: Mapping[str, str] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    confinement: Confinement | None = None,
) -> CommandEnd:
    """Carries out `/bin/sh -c COMMAND` in the folder `cwd`, without input, in a session of its own, and returns how it
    ended. Waits on the loop, and gives up when `is_stopped` says so: then, and after the timeout, the command gets
    SIGTERM with all its descendants, and 2 s later SIGKILL. Background processes of a command that has ended live on.
    `env` is all of its variables; by default those of this process without the host's secrets. With a `confinement` it
    runs behind the prefix."""
    argv, folder = shell_argv(command, cwd, confinement)
    return TaskCommand(loop, argv, folder, child_environment() if env is None else env).run(timeout_s, is_stopped)


def failure(what: str, end: CommandEnd) -> str:
    """Why a task is not ok: `check: exit 1: 2 tests failed`. `what` is `setup` or `check`."""
    lines = [line for each in end.output.splitlines() if (line := one_line(each, SHOWN))]
    return f"{what}: {end.how}" + (f": {lines[-1]}" if lines else "")


class TaskCommand:
    """One command, and the end of its output. `run` is as `run_command`."""

    def __init__(
        self,
        loop: Loop,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        stdin: bytes | None = None,
        on_stdout: Callable[[bytes], None] | None = None,
    ) -> None:
        """`stdin` is its input. `on_stdout` gets its standard output alone; the end of the output has standard error,
        too."""
        self.cut_short = ""
        """Why it was ended before its end, or could not be started."""
        self._on_stdout = on_stdout
        self._loop = loop
        self._started = loop.clock()
        self._kept = bytearray()
        self._dropped = False
        self.child: Child | None = None
        try:
            self.child = Child(
                loop,
                argv,
                cwd=cwd,
                env=env,
                stdin=stdin is not None,
                on_stdout=self._on_output if on_stdout is None else self._on_both,
                on_stderr=None if on_stdout is None else self._on_output,
                on_exit=_nothing,
                linger=True,
            )
        except SpawnError as error:
            self.cut_short = valid_text(str(error))
        if stdin is not None and self.child is not None and self.child.stdin is not None:
            self.child.stdin.send(stdin)
            self.child.stdin.end()

    def ask_to_stop(self) -> None:
        """Does nothing: a shell command cannot be asked, only signalled."""

    def hint_to_stop(self) -> None:
        pass

    def run(self, timeout_s: float, is_stopped: Callable[[], bool]) -> CommandEnd:
        child = self.child
        if child is None:
            return CommandEnd(CANNOT_START, 0, self.cut_short)
        deadline = self._started + timeout_s
        self._loop.run_until(lambda: not child.is_running or is_stopped(), deadline)
        if child.is_running:
            self.cut_short = "stopped" if is_stopped() else f"timed out after {timeout_s:g} s"
            stop_all(self._loop, [self], patience=KILL)
        said, code = self.cut_short, -signal.SIGKILL if child.exit is None else child.exit.code
        duration = self._loop.clock() - self._started
        return CommandEnd(code or -signal.SIGTERM if said else code, round(duration * 1000), self._output(said))

    def _on_both(self, data: bytes) -> None:
        self._on_output(data)
        if self._on_stdout is not None:
            self._on_stdout(data)

    def _on_output(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 16 * OUTPUT_KEPT:
            del self._kept[:-OUTPUT_KEPT]
            self._dropped = True

    def _output(self, said: str) -> str:
        """The last bytes, from the start of a line on if there is one, and why the command was ended."""
        kept = bytes(self._kept[-OUTPUT_KEPT:])
        if self._dropped or len(self._kept) > OUTPUT_KEPT:
            kept = kept.partition(b"\n")[2] or kept
        text = kept.decode("utf-8", "replace")
        if not said:
            return text
        return f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{said}"


def _nothing(_status: ExitStatus) -> None:
    """The exit status is read from the child."""
