"""One template process and the socket to it: starts it, sends requests, and hands each answer to its fork."""

from __future__ import annotations

import signal
import socket
from enum import Enum
from typing import TYPE_CHECKING

from supervisor.process.child import PASSING, Child, SpawnError
from supervisor.process.exit_cause import StderrTail
from supervisor.template.protocol import Ended, Failed, Fork, Ready, Started, decode_reply, receive, send_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import ExitStatus
    from supervisor.template.forked_child import ForkedChild

WINDOW = 16
"""Maximum number of unanswered requests: the kernel limits the descriptors that are in sockets."""
REPLIES_AT_ONCE = 64
"""Maximum number of answers that are read in one pass of the loop."""
READY_S = 60.0
"""Maximum of seconds from the start of the program until it serves."""
ANSWER_S = 60.0
"""Maximum of seconds for an answer. A template that takes longer is stuck and is killed."""
LOOK_S = 10.0
"""Seconds between two looks for ended forks. A template that has not reported such an end by the next look is stuck and
is killed."""
CLOSED_S = 1.0
"""Seconds from the end of the socket until the process is killed."""
LAST_LINES = 5
"""Number of last lines of its output in the reason of its end."""


class ConnectionState(Enum):
    STARTING = "starting"
    READY = "ready"
    CLOSING = "closing"
    """It was told to end, or has closed its socket."""
    GONE = "gone"
    """The process has ended. Forks that have just begun may still report that."""


class TemplateConnection:
    """Raises `SpawnError` if the program cannot be started. `on_room` is called when a request can be sent. `on_lost`
    gets the reason once when the process has ended."""

    def __init__(
        self,
        loop: Loop,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        on_room: Callable[[], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._on_room = on_room
        self._on_lost = on_lost
        self.state = ConnectionState.STARTING
        self.has_served = False
        """Whether a fork has begun."""
        self._facts: Ready | None = None
        self._asked: dict[int, ForkedChild] = {}
        self._running: dict[int, ForkedChild] = {}
        self._last_words = StderrTail()
        self._why_killed = ""
        self._reason = ""
        self._deadline: Timer | None = None
        self._look: Timer | None = None
        self._unreported: set[int] = set()
        """Forks that had ended at the last look."""
        try:
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            failed = SpawnError(f"cannot start the template: {error.strerror}")
            failed.may_pass = error.errno in PASSING
            raise failed from error
        try:
            self.child = Child(
                loop,
                [*argv, str(theirs.fileno())],
                cwd=cwd,
                env=env,
                on_stdout=self._last_words.write,
                on_exit=self._on_exit,
                stdin=False,
                pass_fds=[theirs.fileno()],
            )
        except SpawnError:
            self._socket.close()
            raise
        finally:
            theirs.close()
        self._socket.setblocking(False)
        loop.watch(self, read=True)
        self._wait(READY_S, "was not ready")

    # --- requests -----------------------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        return self.state is ConnectionState.READY and len(self._asked) < WINDOW

    def ask(self, request: Fork, fork: ForkedChild) -> bool:
        """Sends a request. Returns False if the request must wait, or if the template is ending. Raises OSError if this
        request cannot be sent."""
        try:
            send_request(self._socket, request, fork.fds)
        except BlockingIOError:
            self._loop.watch(self, read=True, write=True)
            return False
        except ConnectionError:
            return False
        if not self._asked:
            self._wait(ANSWER_S, "did not answer")
        self._asked[request.id] = fork
        fork.asked(self._read)
        return True

    def close(self) -> None:
        """Tells the template to end all its forks and itself. Their ends are still reported."""
        if self.state in (ConnectionState.STARTING, ConnectionState.READY):
            self.state = ConnectionState.CLOSING
            try:
                self._socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it is just ending
            self._wait(ANSWER_S, "did not end")

    # --- answers ------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        return self._socket.fileno()

    def on_readable(self, budget: int) -> None:  # noqa: ARG002  (packets are short)
        self._read(REPLIES_AT_ONCE)

    def on_writable(self) -> None:
        self._loop.watch(self, read=True)
        self._on_room()

    def _read(self, most: int = 1 << 30) -> None:
        """Reads the answers that have come, at most `most`."""
        had_room = self.has_room
        while most > 0 and self._socket.fileno() >= 0:
            most -= 1
            try:
                data, fds, _ = receive(self._socket)
            except OSError:
                break
            if not data:
                self._on_end()
                return
            self._take(data, fds)
        if self.has_room and not had_room:
            self._on_room()

    def _take(self, data: bytes, fds: list[int]) -> None:
        reply = decode_reply(data)
        if isinstance(reply, Started):
            self._on_started(reply, fds)
        elif isinstance(reply, Ended):
            self._on_ended(reply)
        elif isinstance(reply, Failed):
            self._on_failed(reply)
        else:
            self._facts = reply
            if self.state is ConnectionState.STARTING:
                self.state = ConnectionState.READY
                self._answered()

    def _on_started(self, reply: Started, fds: list[int]) -> None:
        fork = self._asked.pop(reply.id)
        self.has_served = True
        self._answered()
        self._running[reply.id] = fork
        self._look_later()
        fork.started(reply.pid, fds[0] if fds else -1, self._facts)
        if self.state is ConnectionState.GONE:
            fork.orphaned()

    def _on_failed(self, reply: Failed) -> None:
        fork = self._asked.pop(reply.id, None) or self._running.get(reply.id)
        self._answered()
        if fork is not None:
            fork.refused(
                _error(f"cannot start the fork: {reply.reason}", may_pass=reply.errno in PASSING, number=reply.errno)
            )

    def _on_ended(self, reply: Ended) -> None:
        fork = self._running.pop(reply.id, None)
        if fork is not None:
            fork.ended(reply.status, reply.user_s + reply.system_s, reply.rss_peak)
        elif (fork := self._asked.pop(reply.id, None)) is not None:
            self._answered()
            fork.refused(_error("the fork was killed before it began", may_pass=True))

    # --- the end of the process -----------------------------------------------------------------------------

    def _on_exit(self, exit_status: ExitStatus) -> None:
        self._reason = self._describe(exit_status)
        self._read()
        self.state = ConnectionState.GONE
        self._stop_waiting()
        if self._look is not None:
            self._look.cancel()
        for fork in list(self._running.values()):
            fork.orphaned()
        self._running.clear()
        if self._socket.fileno() < 0:
            self._fail_asked()
        self._on_lost(self._reason)

    def _on_end(self) -> None:
        """The template and all forks that have just begun have closed the other end: no more answers come."""
        self._loop.watch(self)
        self._socket.close()
        if self.child.is_running:
            self.state = ConnectionState.CLOSING
            self._wait(CLOSED_S, "has closed its socket and did not end")
        else:
            self._fail_asked()

    def _fail_asked(self) -> None:
        asked, self._asked = self._asked, {}
        for fork in asked.values():
            fork.refused(_error(f"the fork has not begun: {self._reason}", may_pass=True))

    def _describe(self, exit_status: ExitStatus) -> str:
        when = "" if self._facts is not None else " before it was ready"
        why = f"it {self._why_killed}, and was killed" if self._why_killed else str(exit_status)
        said = " | ".join(self._last_words.shown(LAST_LINES))
        return f"the template ended{when} ({why}){': ' if said else ''}{said}"

    # --- deadlines ----------------------------------------------------------------------------------------

    def _answered(self) -> None:
        self._stop_waiting()
        if self._asked:
            self._wait(ANSWER_S, "did not answer")

    def _wait(self, seconds: float, failure: str) -> None:
        self._stop_waiting()
        self._deadline = self._loop.call_later(seconds, lambda: self._kill(f"{failure} within {seconds:.0f} s"))

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look_later(self) -> None:
        if self._look is None and self.state is ConnectionState.READY:
            self._look = self._loop.call_later(LOOK_S, self._look_at_forks)

    def _look_at_forks(self) -> None:
        """Kills a stuck template: only it can collect its forks, so their ends would never be reported."""
        self._look = None
        ended = {number for number, fork in self._running.items() if fork.has_ended()}
        if ended & self._unreported:
            self._kill(f"did not report the end of a fork within {LOOK_S:.0f} s")
            return
        self._unreported = ended
        if self._running:
            self._look_later()

    def _kill(self, why: str) -> None:
        self._why_killed = why
        self.child.kill_group(signal.SIGKILL)


def _error(reason: str, *, may_pass: bool, number: int = 0) -> SpawnError:
    error = SpawnError(number, reason) if number else SpawnError(reason)
    error.may_pass = may_pass
    return error
