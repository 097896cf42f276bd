"""A worker that is part of the program in which this host runs. It has no process, and is never restarted."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from supervisor.extension.lifecycle import Trigger
from supervisor.extension.worker import Worker

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.extension.restart import EndCause
    from supervisor.extension.worker import WorkerOwner
    from supervisor.loop.host_link import HostLink
    from supervisor.loop.link import Link
    from supervisor.loop.loop import Loop
    from wire.dialects.base import Dialect, HostInfo, Setup

HOST_STOPS = "the host stops"


def linked_worker(
    link: Link, common: tuple[Loop, WorkerOwner, Dialect, Setup], *, host: HostInfo, folder: str, index: int
) -> Worker:
    """The worker at the other end of a link: of another host, or of the embedding program. `common` as for `Worker`."""
    if link.is_hosted:
        from supervisor.extension.hosted_worker import HostedWorker  # other runs do not load it

        return HostedWorker(*common, cast("HostLink", link), folder=folder, index=index)
    return ProgramWorker(*common, link, host=host, folder=folder, index=index)


class RestartedElsewhereError(Exception):
    """Raised for an order about an extension that this host does not start; the text says who does."""


class ProgramWorker(Worker):
    """A worker that is connected by a link."""

    __slots__ = ("_link",)

    def __init__(
        self,
        loop: Loop,
        owner: WorkerOwner,
        dialect: Dialect,
        setup: Setup,
        link: Link,
        *,
        host: HostInfo,
        folder: str,
        index: int,
    ) -> None:
        super().__init__(loop, owner, dialect, setup, host=host, folder=folder, index=index)
        self._link = link

    @property
    def is_running(self) -> bool:
        """Whether the host reads its frames."""
        return self.requests.stdin is not None and self.requests.stdin.is_open

    def start(
        self,
        argv: Callable[[], Sequence[str]],  # noqa: ARG002
        env: Mapping[str, str],  # noqa: ARG002
        cwd: str,  # noqa: ARG002
        hello_s: float,
    ) -> bool:
        """Begins to read the frames of the link."""
        link = self._link
        link.on_frames = self.channel.receive
        link.on_oversize = self.channel.receive_oversize
        link.on_lost = self.leave
        self._connect(link, link, hello_s)
        return True

    def leave(self, reason: str) -> None:
        """Called when the program has ended the worker, or is gone. Its pending requests fail with `reason`."""
        if not self.is_running:
            return
        self._link.close(reason)
        self.restart_timer(None)
        self.failure = reason
        self._move(Trigger.STOP)
        self._move(Trigger.GONE)
        self._owner.log.add(f"ended: {reason}")
        self.channel.end(reason)
        self._owner.stopped(self)

    def dismiss(self) -> None:
        if self.is_running:
            self.ask_to_stop()
            self.leave(HOST_STOPS)

    def kill(self, number: signal.Signals) -> None:  # noqa: ARG002
        """Closes the link: there is no process to signal."""
        self.leave(HOST_STOPS)

    def _end(self, reason: str, full_reason: str, trigger: Trigger, cause: EndCause, code: int | None) -> None:
        self._link.close(reason)
        super()._end(reason, full_reason, trigger, cause, code)
