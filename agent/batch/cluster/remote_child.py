"""The process of a run on a node, as the batch has it: its link, its event stream and its end come and go as frames."""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING

from supervisor.loop.outbox import Outbox
from supervisor.process.child import ExitStatus, SpawnError
from supervisor.process.table import Identity
from wire.batch.node_frames import Kill, Read, Send, Start

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from wire.batch.node_frames import Exited, NotStarted, Told, ToNode

FOREIGN_PID = 2**31 - 1
"""The pid of a process on another machine: no process of this one has it, whatever is done with it."""
READ = 64 * 1024


class RemoteOutput:
    """`agent.batch.pool.processes.RunOutput`: what has come was passed on at once."""

    def __init__(self, run: str, send: Callable[[ToNode], bool]) -> None:
        self._run = run
        self._send = send

    def take(self) -> None:
        """Does nothing."""

    def hold(self, *, held: bool) -> None:
        self._send(Read(run=self._run, is_on=not held))


class RemoteChild:
    """`agent.batch.pool.processes.RunChild`. `send` gets the frames for its node, and returns False if that is gone.
    The descriptors stay the caller's. `on_exit` or `on_failed` is called once, after `on_over`, when all that came
    before is passed on. Raises `OSError` if no descriptors are left."""

    def __init__(
        self,
        loop: Loop,
        run: str,
        send: Callable[[ToNode], bool],
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
        on_over: Callable[[], None],
    ) -> None:
        self.pid = FOREIGN_PID
        self.identity = Identity(FOREIGN_PID, 0.0)
        self.exit: ExitStatus | None = None
        self.stdout = RemoteOutput(run, send)
        self.lost = ""
        """Why its node is gone, if that was its end."""
        self.memory = 0
        """Bytes, as its node has told."""
        self.on_stdout = on_stdout
        self._loop = loop
        self._run = run
        self._send = send
        self._on_exit = on_exit
        self._on_failed = on_failed
        self._on_over = on_over
        self._link = socket.socket(fileno=os.dup(link))
        try:
            self._stderr = os.dup(stderr)
        except OSError:
            self._link.close()
            raise
        self._link.setblocking(False)
        self._begin: bytearray | None = bytearray()
        """The first line so far; None once it is sent."""
        self._outbox = Outbox()
        self._waits = False
        """Whether lines wait until the batch reads."""
        self._end: ExitStatus | None = None
        """Its end, while lines wait."""
        loop.watch(self, read=True)

    @property
    def is_running(self) -> bool:
        """Whether its end is not known."""
        return self._link.fileno() >= 0

    def kill(self) -> None:
        """Has the whole tree killed on its node. `on_exit` follows."""
        if self.is_running:
            self._send(Kill(run=self._run))

    def kill_group(self, number: signal.Signals) -> None:
        """Kills it for `SIGKILL`. The node knows no other signals."""
        if number == signal.SIGKILL:
            self.kill()

    # --- from the batch -------------------------------------------------------------------------------------

    def fileno(self) -> int:
        return self._link.fileno()

    def on_readable(self, budget: int) -> None:
        try:
            data = self._link.recv(min(budget, READ))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:  # the batch kills a run whose link is broken, if it does not end by itself
            self._loop.watch(self)
            self._waits = False
            self._outbox.clear()
            if self._end is not None:
                self._exit(self._end)
            return
        if self._begin is None:
            self._send(Send(run=self._run, data=data))
            return
        self._begin += data
        line, end, rest = bytes(self._begin).partition(b"\n")
        if end:
            self._begin = None
            self._send(Start(run=self._run, begin=line))
            if rest:
                self._send(Send(run=self._run, data=rest))

    # --- from the node --------------------------------------------------------------------------------------

    def told(self, frame: Told) -> None:
        """Passes a line on to the batch."""
        self._outbox.append(frame.line.rstrip(b"\n") + b"\n")
        self.on_writable()

    def on_writable(self) -> None:
        try:
            self._outbox.flush(self._link.send)
        except OSError:
            self._outbox.clear()  # the batch listens no longer
        if self._waits != bool(self._outbox.queued):
            self._waits = not self._waits
            self._loop.watch(self, read=True, write=self._waits)
        if self._end is not None and not self._outbox.queued:
            self._exit(self._end)

    def errors(self, data: bytes) -> None:
        """Adds to the file of its standard error, as far as there is room."""
        try:
            os.write(self._stderr, data)
        except OSError:
            pass  # as for a process that writes to a full disk itself

    def exited(self, frame: Exited) -> None:
        self._exit_once_told(ExitStatus(frame.code, frame.cpu_s, frame.rss_peak))

    def lose(self, reason: str) -> None:
        """Its node is gone, and with it the process. Lines that have come count."""
        if self._end is None and self.is_running:
            self.lost = reason
            self._exit_once_told(ExitStatus(-signal.SIGKILL, 0.0, 0))

    def not_started(self, frame: NotStarted) -> None:
        if self.is_running:
            error = SpawnError(frame.message)
            error.may_pass = frame.may_pass
            self._close()
            self._on_failed(error)

    def _exit_once_told(self, status: ExitStatus) -> None:
        self._end = status
        if not self._outbox.queued:
            self._exit(status)

    def _exit(self, status: ExitStatus) -> None:
        if self.is_running:
            self._close()
            self.exit = status
            self._on_exit(status)

    def _close(self) -> None:
        self._loop.watch(self)
        self._link.close()
        os.close(self._stderr)
        self._on_over()
