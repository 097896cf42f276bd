"""The listener's end of one conversation: its process and its link. When the process has died, what it has left is
ended before the conversation counts as over."""

from __future__ import annotations

import signal
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from agent.batch.pool.run_link import RunLink
from agent.listener.order import refusal_line
from supervisor.cleanup.kill_leftovers import TERM_S, HostMarks, LeftoverKiller
from supervisor.template.server import NOT_ENTERED
from wire.batch import link
from wire.exit_codes import Status
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from supervisor.loop.loop import Loop
    from supervisor.process.child import Child, ExitStatus, SpawnError
    from supervisor.template.forked_child import ForkedChild

SWEEP_AGAIN_S = 0.1
"""Seconds until the next look for leftovers where no descriptor is left to look with."""
STDERR = 2
ATTEMPTS = 3
"""Maximum of attempts to start the process."""
UNCLEAN = (Status.ERROR.exit_code, NOT_ENTERED)
"""Exit statuses of a process that may have left others."""


class ConversationPhase(Enum):
    ALIVE = "alive"
    SWEEPING = "sweeping"
    """Its process has ended; what it has left is being ended."""
    OVER = "over"


class Launch(Protocol):
    """Starts the process, as `agent.batch.pool.warm_template.WarmTemplate.launch`. Raises `SpawnError`."""

    def __call__(
        self,
        *,
        links: Sequence[int],
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
        stdin: bool = False,
    ) -> Child | ForkedChild: ...


class ConversationListener(Protocol):
    """Whom a conversation tells what happens. All methods are called from the loop."""

    def asked(self, conversation: Conversation, request: link.ModelRequest) -> None: ...
    def cancelled(self, conversation: Conversation) -> None:
        """It wants no reply to its request, if it has one; or it has ended."""

    def paced(self, conversation: Conversation, is_behind: bool) -> None:
        """It does not read what it is sent as fast as it comes; or it has caught up."""

    def ended(self, conversation: Conversation, trouble: str) -> None:
        """Once. No process of it is left. `trouble` is a line for the operator, "" for an end in order."""


class Conversation:
    """`order` is for the process, `mark` marks all that it starts. Takes the connection `sock`. Raises `SpawnError` and
    `OSError`; the connection is still open then."""

    def __init__(
        self,
        loop: Loop,
        name: str,
        mark: str,
        order: bytes,
        sock: socket.socket,
        listener: ConversationListener,
        launch: Launch,
    ) -> None:
        self.name = name
        self.phase = ConversationPhase.ALIVE
        self._loop = loop
        self._mark = mark
        self._listener = listener
        self._trouble = ""
        self._is_ending = False
        self._order = order
        self._sock = sock
        """Open until the process has begun: the template may die before it forks."""
        self._launch = launch
        self._attempts = 0
        sock.setblocking(True)  # as stdin and stdout of a server are
        self._begin()

    def _begin(self) -> None:
        """Starts the process. Raises `SpawnError` and `OSError`."""
        self._attempts += 1
        self._link = RunLink(
            self._loop, on_line=self._on_line, on_end=lambda _reason: self._listener.cancelled(self),
            on_pace=lambda is_behind: self._listener.paced(self, is_behind),
        )  # fmt: skip
        try:
            self._child = self._launch(
                links=[self._sock.fileno(), self._link.theirs.fileno()], stderr=STDERR, stdin=True,
                on_stdout=_drop, on_exit=self._on_exit, on_failed=self._on_failed,
            )  # fmt: skip
        except BaseException:
            self._link.close()
            raise
        finally:
            self._link.give()
        self._child.send(self._order)
        if self._child.stdin is not None:
            self._child.stdin.end()

    # --- while it runs --------------------------------------------------------------------------------------

    def send(self, line: bytes | bytearray) -> None:
        """Sends a line of a model worker, which has no LF."""
        self._link.send(bytes(line) + b"\n")

    def drain(self, reason: str) -> None:
        """Ends its input: its first prompt may go on for a while, the others are aborted."""
        self._is_ending = True
        self._link.send(link.encode(link.Abort(Status.INTERRUPTED.value, reason)))

    def hurry(self) -> None:
        """Has it abort everything, and end what it has started at once. Its client still gets the last records."""
        self._is_ending = True
        for number in (signal.SIGTERM, signal.SIGINT):  # two signals of one number may be one
            self._child.kill_group(number)

    def _on_line(self, line: bytes) -> None:
        try:
            message = link.decode_from_run(line)
        except UNREADABLE as error:
            self._trouble = f"its process {self._child.pid} has said something that cannot be read: {error}"
            self._child.kill_group(signal.SIGKILL)
            return
        if isinstance(message, link.ModelRequest):
            self._listener.asked(self, message)
        elif isinstance(message, link.Cancel):
            self._listener.cancelled(self)
        elif isinstance(message, link.RunPhase):
            self._sock.close()

    # --- for a teardown -------------------------------------------------------------------------------------

    @property
    def child(self) -> Child | ForkedChild:
        return self._child

    def ask_to_stop(self) -> None:
        self.hurry()

    def hint_to_stop(self) -> None:
        """Closes the link, after which the process ends at once."""
        self._link.close()

    # --- the end --------------------------------------------------------------------------------------------

    def _on_failed(self, error: SpawnError) -> None:
        """The process has not begun."""
        self._link.close()
        failed: OSError = error
        if error.may_pass and self._attempts < ATTEMPTS and not self._is_ending:
            try:
                self._begin()
            except OSError as again:
                failed = again
            else:
                return
        self._trouble = str(failed)
        refuse(self._sock, self._trouble)
        self._finish()

    def _on_exit(self, status: ExitStatus) -> None:
        self._link.drain()
        self._sock.close()
        self._listener.cancelled(self)
        if status.code >= 0 and status.code not in UNCLEAN:
            self._finish()
            return
        if status.code != Status.ERROR.exit_code:  # the conversation itself says what its error is
            self._trouble = self._trouble or f"its process {self._child.pid} has ended ({status})"
        self.phase = ConversationPhase.SWEEPING
        self._sweep(LeftoverKiller(HostMarks(self._mark), self._loop.clock, term_s=TERM_S))

    def _sweep(self, killer: LeftoverKiller) -> None:
        try:
            delay = killer.step()
        except OSError:
            delay = SWEEP_AGAIN_S
        if delay is None:
            self._finish()
        else:
            self._loop.call_later(delay, lambda: self._sweep(killer))

    def _finish(self) -> None:
        self.phase = ConversationPhase.OVER
        self._link.close()
        self._listener.ended(self, self._trouble)


def refuse(sock: socket.socket, reason: str) -> None:
    """Tells a client why it is not served, and closes its connection."""
    with sock:
        sock.setblocking(False)
        try:
            sock.send(refusal_line(reason))
        except OSError:
            pass  # the client has gone already


def _drop(_: bytes) -> None:
    """Standard output of the process reaches no client: it is not the connection."""
