"""A worker that is a process on pipes.

The host reads output of the process in bounded pieces, and queues frames to the process up to a limit.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from supervisor.accounting.limits import TreeUse
from supervisor.extension.connection.handshake import MUTE
from supervisor.extension.lifecycle import Trigger, WorkerState
from supervisor.extension.restart import EndCause
from supervisor.extension.worker import Worker
from supervisor.process.child import EXIT_FOLLOWS_S, Child, SpawnError
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.process.child import ExitStatus


class ProcessWorker(Worker):
    """One process of an extension, started once by `start`."""

    __slots__ = ()

    @property
    def is_running(self) -> bool:
        return self.child is not None and self.child.is_running

    def start(self, argv: Callable[[], Sequence[str]], env: Mapping[str, str], cwd: str, hello_s: float) -> bool:
        """Starts the process in the folder `cwd`. If that fails, the worker ends at once with the reason, and False is
        returned. `argv` may raise `SpawnError`. The hello must come within `hello_s` seconds."""
        try:
            self.child = Child(
                self._loop,
                argv(),
                cwd=cwd,
                env=env,
                on_stdout=self.channel.receive,
                on_stderr=self._on_stderr,
                on_exit=self._on_exit,
                on_mute=self._on_mute,
            )
        except SpawnError as error:
            self.give_up(str(error), EndCause.REFUSED if error.may_pass else EndCause.UNSTARTABLE)
            return False
        assert self.child.stdin is not None
        self._connect(self.child.stdin, self.child.stdout, hello_s)
        return True

    def _on_stderr(self, data: bytes) -> None:
        self.last_words.tail.write(data)
        self._owner.log.write(data)

    def _on_mute(self) -> None:
        """Gives the worker up if its process does not end within `EXIT_FOLLOWS_S` of the end of its stdout."""
        self._loop.call_later(EXIT_FOLLOWS_S, lambda: self.give_up(MUTE, EndCause.REFUSED))

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
        self._count_exit(status)
        self.usage = TreeUse()
        self.restart_timer(None)
        if not (self.state.is_awaited or self.state in (WorkerState.GREETED, WorkerState.READY)):
            self._move(Trigger.GONE)
            self.channel.end(f"it was stopped ({status})")
            self._owner.stopped(self)
            return
        if status.code == -signal.SIGKILL and (breach := self._owner.memory_breach(self)) is not None:
            self._end(breach, breach, Trigger.GONE, EndCause.OVER_LIMIT, status.code)
            return
        calls = len(self.requests.pending)
        busy = f" with {counted(calls, 'call')} pending" if calls else ""
        early = self.state.is_awaited
        reason = f"it exited before its hello ({status})" if early else f"it ended ({status})"
        self._end(reason, reason + busy, Trigger.GONE, EndCause.EXIT, status.code)

    def _count_exit(self, status: ExitStatus, *, is_told: bool = True) -> None:
        """Adds the ended process to the account. Without `is_told` only its use counts, and not its end."""
        self._owner.account.exited(
            str(status),
            cpu_s=status.cpu_s,
            rss_peak=status.rss_peak,
            seen_cpu_s=self.usage.spent_s,
            is_told=is_told,
        )
