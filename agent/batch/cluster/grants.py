"""The model workers of a batch with nodes, as its pool sees them: a worker that is leased is a permit for a node, whose
own worker then sends the request that the node has kept."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import orjson

from agent.cassette.reply_lines import problem_of_worker_line
from wire.batch.node_frames import FrameError, Grant, Withdraw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.batch.pool.leases import Lease
    from agent.model.provider import Line
    from supervisor.process.child import Child
    from supervisor.process.teardown import Stoppable
    from supervisor.template.forked_child import ForkedChild
    from wire.batch.node_frames import Broke, Replied

PASSED_ON = b""
"""The raw line of a worker that its run has got already."""


class GrantedWorker:
    """The worker of a node that serves a lease."""

    def __init__(self, grant: Callable[[], bool]) -> None:
        self.is_ready = False
        """Whether the request may have reached the provider: once the node may send it, only the node could tell."""
        self._grant = grant

    def send_once_ready(self, line: bytes) -> None:  # noqa: ARG002  (the node has it)
        self.is_ready = self._grant()

    def hold(self) -> None:
        """Does nothing: the lines go from the worker to the run on their node, and the node keeps the pace."""

    def read_on(self) -> None:
        """Does nothing, as `hold`."""


class GrantSet:
    """`agent.batch.pool.leases.Workers`. `send` gets a frame for the node of its run, and returns False if that is
    gone. The other callbacks are those of `WorkerSet`; the raw line is `PASSED_ON`, except that of an `error`."""

    def __init__(
        self,
        send: Callable[[Grant | Withdraw], bool],
        *,
        on_line: Callable[[Lease, Line, bytes | bytearray], None],
        on_failed: Callable[[Lease, str], None],
    ) -> None:
        self._send = send
        self._on_line = on_line
        self._on_failed = on_failed
        self._granted: dict[str, tuple[Lease, GrantedWorker]] = {}
        """By run."""

    @property
    def leased(self) -> int:
        return len(self._granted)

    def lease(self, lease: Lease, most: int) -> GrantedWorker:  # noqa: ARG002  (a node counts its own workers)
        worker = GrantedWorker(partial(self._send, Grant(run=lease.run, request=lease.id)))
        self._granted[lease.run] = lease, worker
        return worker

    def free(self, lease: Lease) -> None:
        """The reply has ended: the node knows."""
        self._forget(lease)

    def kill(self, lease: Lease) -> None:
        """The run is over in mid-reply, or no longer wants it."""
        if self._forget(lease):
            self._send(Withdraw(run=lease.run, request=lease.id))

    def children(self) -> list[Child | ForkedChild]:
        return []

    def stop(self) -> Sequence[Stoppable]:
        self._granted.clear()
        return ()

    def _forget(self, lease: Lease) -> bool:
        if self._find(lease.run, lease.id) is None:
            return False
        del self._granted[lease.run]
        return True

    def _find(self, run: str, request: str) -> tuple[Lease, GrantedWorker] | None:
        """None if the request is not granted, or given up by now: the frames may have crossed."""
        found = self._granted.get(run)
        return found if found is not None and found[0].id == request else None

    # --- from the nodes -------------------------------------------------------------------------------------

    def replied(self, frame: Replied) -> None:
        """Raises `FrameError`."""
        try:
            line = orjson.loads(frame.line)
        except orjson.JSONDecodeError as error:
            raise FrameError(f"a line of a model worker that is not JSON: {error}") from None
        if problem := problem_of_worker_line(line):
            raise FrameError(f"a line of a model worker that is not valid: {problem}")
        if (found := self._find(frame.run, frame.request)) is not None:
            self._on_line(found[0], line, frame.line if line["type"] == "error" else PASSED_ON)

    def broke(self, frame: Broke) -> None:
        if (found := self._find(frame.run, frame.request)) is not None:
            lease, worker = found
            del self._granted[frame.run]
            worker.is_ready = frame.was_sent
            self._on_failed(lease, frame.message)
