"""A worker that is a process on pipes.

Output of the process is read in bounded pieces; frames to the process are queued up to a limit.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from supervisor.accounting.limits import TreeUse
from supervisor.extension.handshake import MUTE
from supervisor.extension.lifecycle import State, Trigger
from supervisor.extension.restart import Cause
from supervisor.extension.worker import Worker
from supervisor.loop.future import Failure
from supervisor.process.child import EXIT_FOLLOWS_S, Child, SpawnError
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.extension.worker import WorkerOwner
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from wire.dialects.base import Dialect, HostInfo, Setup


class ProcessWorker(Worker):
    """One process of an extension, started once by `start`."""

    __slots__ = ("_runs_in",)

    def __init__(
        self,
        loop: Loop,
        owner: WorkerOwner,
        dialect: Dialect,
        setup: Setup,
        *,
        host: HostInfo | None,
        folder: str,
        index: int,
        runs_in: str,
    ) -> None:
        """`runs_in` is the folder in which the process runs, `folder` that of the extension."""
        super().__init__(loop, owner, dialect, setup, host=host, folder=folder, index=index)
        self._runs_in = runs_in

    @property
    def is_running(self) -> bool:
        return self.child is not None and self.child.is_running

    def start(self, argv: Callable[[], Sequence[str]], env: Mapping[str, str], hello_s: float) -> bool:
        """Starts the process. If that fails, the worker ends at once with the reason, and False is returned. `argv` may
        raise `SpawnError`. The hello must come within `hello_s` seconds."""
        try:
            self.child = Child(
                self._loop,
                argv(),
                cwd=self._runs_in,
                env=env,
                on_stdout=self._on_stdout,
                on_stderr=self._on_stderr,
                on_exit=self._on_exit,
                on_mute=self._on_mute,
            )
        except SpawnError as error:
            self.give_up(str(error), Cause.REFUSED if error.may_pass else Cause.UNSTARTABLE)
            return False
        self.stdin, self.stdout = self.child.stdin, self.child.stdout
        self._begin(hello_s)
        return True

    def _on_stderr(self, data: bytes) -> None:
        self.last_words.tail.write(data)
        self._owner.log.write(data)

    def _on_mute(self) -> None:
        """Gives the worker up if its process does not end within `EXIT_FOLLOWS_S` of the end of its stdout."""
        self._loop.call_later(EXIT_FOLLOWS_S, lambda: self.give_up(MUTE, Cause.REFUSED))

    def hint_to_stop(self) -> None:
        """Closes the process's stdin: some programs stop at end of file."""
        if not self._acked and self.child is not None and self.child.stdin is not None:
            self.child.stdin.end()

    def kill(self, number: signal.Signals) -> None:
        """Sends a signal to the worker's process group at once."""
        if self.child is not None:
            self.child.kill_group(number)

    def _on_exit(self, status: ExitStatus) -> None:
        self._owner.log.add(f"ended: {status}")
        self._owner.collected(self)
        self.account.exited(str(status), cpu_s=status.cpu_s, rss_peak=status.rss_peak, seen_cpu_s=self.usage.spent_s)
        self.usage = TreeUse()
        self.restart_timer(None)
        if self.state not in (State.SPAWNED, State.GREETED, State.READY):
            self._move(Trigger.GONE)
            self._let_go()
            self._fail_pending(Failure.DIED, f"it was stopped ({status})")
            self._owner.stopped(self)
            return
        if status.code == -signal.SIGKILL and (breach := self._owner.memory_breach(self)) is not None:
            self._end(breach, breach, Trigger.GONE, Cause.OVER_LIMIT, status.code)
            return
        busy = f" with {counted(len(self.pending), 'call')} pending" if self.pending else ""
        early = self.state is State.SPAWNED
        reason = f"it exited before its hello ({status})" if early else f"it ended ({status})"
        self._end(reason, reason + busy, Trigger.GONE, Cause.EXIT, status.code)
