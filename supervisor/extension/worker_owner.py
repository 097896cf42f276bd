"""The reports of a worker to its owner: the generation that it belongs to, or the harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wire import frames

if TYPE_CHECKING:
    from supervisor.accounting.account import Account
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import Notices
    from supervisor.extension.restart import WorkerEnding
    from supervisor.extension.worker import Worker
    from wire.dialects.host_calls import HostCall
    from wire.manifest import Timeouts

Shown = frames.ClearNotes | frames.OpenPanel | frames.PanelRender | frames.PanelClosed


class WorkerOwner(Protocol):
    """The generation that a worker belongs to, or the harness."""

    name: str
    data_dir: str
    account: Account
    log: ExtensionLog
    timeouts: Timeouts
    notices: Notices

    def registered(self, worker: Worker) -> None:
        """The registrations of the worker changed, or it said hello."""

    def refusal(self, worker: Worker) -> str:
        """Why the hello of the worker is refused; "" if it is accepted. A refused worker is not restarted."""

    def got_ready(self, worker: Worker) -> None: ...

    def ended(self, worker: Worker, ending: WorkerEnding, reason: str) -> None:
        """The process has ended by itself, or the host has given up the worker. The owner then ends the process."""

    def collected(self, worker: Worker) -> None:
        """The process has been waited for. Processes that it started may live on."""

    def memory_breach(self, worker: Worker) -> str | None:
        """Called after `collected` if SIGKILL ended the process. Returns the reason if it was the memory limit."""

    def stopped(self, worker: Worker) -> None:
        """The process has ended after the host had stopped the worker or given it up."""

    def showed(self, worker: Worker, frame: Shown) -> None:
        """The worker clears its notes, or redraws or closes a panel."""

    def timed_out(self, worker: Worker) -> None:
        """A request to the worker got no answer in time."""

    def called(self, call: HostCall, answer: HostCallAnswer) -> None:
        """The worker wants something from the host."""
