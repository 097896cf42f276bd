"""A worker whose extension runs in a host that other runs use too. The host owns the process, its restarts and limits.

The worker reads the extension's registrations and frames from a link. While the host restarts the process, calls fail
at once, as with a process of this run. A verdict stays pending until the host can ask: the process may have died of
another run's request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import Trigger, WorkerState
from supervisor.extension.worker import Worker
from supervisor.loop.future import Failure
from wire.dialects import attach
from wire.dialects.table import ZOT, find_dialect

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.extension.worker import WorkerOwner
    from supervisor.loop.host_link import HostLink
    from supervisor.loop.loop import Loop
    from wire.dialects.base import Dialect, Setup

RUN_ENDS = "the run ends"
_FAILURES = {failure.value: failure for failure in Failure}


class HostedWorker(Worker):
    """A worker that is connected to a host by a link. It speaks zot's protocol with the host; `dialect` is that of the
    host's process."""

    __slots__ = ("_is_extended_by_progress", "_link")

    def __init__(
        self, loop: Loop, owner: WorkerOwner, dialect: Dialect, setup: Setup, link: HostLink, *, folder: str, index: int
    ) -> None:
        super().__init__(loop, owner, find_dialect(ZOT), setup, host=None, folder=folder, index=index)
        self._link = link
        self._is_ready_by_silence = False
        self.requests.is_extended_by_progress = dialect.is_extended_by_progress

    @property
    def is_running(self) -> bool:
        """Whether the link is open."""
        return self.requests.stdin is not None and self.requests.stdin.is_open

    def start(
        self,
        argv: Callable[[], Sequence[str]],  # noqa: ARG002
        env: Mapping[str, str],  # noqa: ARG002
        cwd: str,  # noqa: ARG002
        hello_s: float,
    ) -> bool:
        """Takes the extension from the host, which then tells its registrations or its state."""
        link = self._link
        link.on_frames = self.channel.receive
        link.on_lost = self._lose_host
        link.on_told = self._on_told
        self._connect(link, link.reader, hello_s)
        link.begin()
        return True

    # --- what the host tells --------------------------------------------------------------------------------

    def _on_told(self, line: attach.FromHost) -> None:
        if isinstance(line, attach.Registered):
            self._register(line)
        elif isinstance(line, attach.Failed):
            self.requests.fail(line.id, _FAILURES.get(line.failure, Failure.BAD_ANSWER), line.reason)
        elif isinstance(line, attach.Told):
            self._notices.tell(line.kind, line.message)  # type: ignore[arg-type]
            self._count(line.kind)
        elif isinstance(line, attach.State):
            self._change_state(line)
        elif isinstance(line, attach.Refused):
            if self.state is WorkerState.SPAWNED:
                self._notices.tell("failed", line.message)
                self._fall(line.message)
            else:
                self._notices.remark(f"its host: {line.message}")

    def _count(self, kind: str) -> None:
        account = self._owner.account
        if kind == "restarted":
            account.restarts += 1
        elif kind in ("exited", "limit"):
            account.exits += 1
            account.unexpected_exits += 1

    def _register(self, line: attach.Registered) -> None:
        """Takes the registrations in place of all earlier ones."""
        is_first = self.said_hello is None
        if is_first:
            self._move(Trigger.AWAITED)
        self.registry.clear()
        said = line.frames if is_first else line.frames[1:]
        self.channel.receive(b"".join(bytes(frame) + b"\n" for frame in said))
        self.registry.instructions = line.instructions
        self.requests.accepts_cancel = self.requests.accepts_verdict_cancel = True
        if self.state is WorkerState.BACKOFF:
            self.failure = ""
            self._move(Trigger.FOUND)
        self._owner.registered(self)

    def _change_state(self, line: attach.State) -> None:
        if line.state == "gone":
            self._link.close(line.reason)
            self._fall(line.reason)
            if line.is_private and self._link.on_private is not None:
                self._link.on_private(line.reason)
        elif line.state == "starting":
            self.restart_timer(None)  # its host keeps the time of the start
            if line.reason:
                self.fail_requests_with(line.reason)
        elif line.state == "down" and self.said_hello is None:
            self.failure = line.reason  # it is still starting: a verdict waits for a guard that the host restarts
        elif line.state == "down":
            self.failure = line.reason
            self.knows_session = False  # the next process gets session_start, too
            self.restart_timer(None)
            self._move(Trigger.LOST)
            self.fail_requests_with(line.reason)
            self._owner.stopped(self)

    def _tell_refusal(self) -> None:
        """While its process is down, the host refuses calls, and keeps verdicts until the restart."""
        super()._tell_refusal()
        if self.state is WorkerState.BACKOFF:
            self.requests.refusal = ""

    def _lose_host(self, reason: str) -> None:
        """The connection to the host has ended; the link is not closed yet, but can no longer send."""
        self._link.close(reason)
        self._notices.tell("exited", reason)
        self._fall(reason)

    def _fall(self, reason: str) -> None:
        """The extension does not come back in this run: its pending requests fail, and so do all later ones."""
        self.failure = reason
        self.restart_timer(None)
        self._move(Trigger.LOST)
        self._move(Trigger.ABANDONED)
        self.fail_requests_with(reason)
        self.channel.end(reason)
        self._owner.stopped(self)

    # --- end ------------------------------------------------------------------------------------------------

    def dismiss(self) -> None:
        if self.is_running:
            self.ask_to_stop()
            self._leave()

    def kill(self, number: signal.Signals) -> None:  # noqa: ARG002
        """Leaves the host: there is no process of this run to signal."""
        self._leave()

    def _leave(self) -> None:
        if not self.is_running:
            return
        self._link.close(RUN_ENDS)
        self.restart_timer(None)
        self.failure = RUN_ENDS
        self._move(Trigger.STOP)
        self._move(Trigger.GONE)
        self.channel.end(RUN_ENDS)
        self._owner.stopped(self)
