"""The attempts of a batch with nodes: chooses a node for each, and goes on elsewhere when one is lost."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agent.batch.attempts import Attempts
from agent.batch.cluster.placement import NodeLoad, choose_node, crowding, most_of_node
from agent.batch.cluster.remote_child import RemoteChild
from agent.batch.journal.folder import RunFolder
from agent.batch.pool.run_facts import EndReason
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.attempts import Active
    from agent.batch.cluster.node_processes import NodeProcesses
    from agent.batch.cluster.nodes import Node
    from agent.batch.control.limits import BatchLimits
    from agent.batch.journal.writer import Journal
    from agent.batch.pool.processes import Launch
    from agent.batch.pool.run_order import RunOrder
    from agent.batch.pool.run_process import RunProcess
    from agent.batch.request import BatchRequest
    from supervisor.loop.loop import Loop, Timer
    from wire.batch.outcome import Outcome

NO_NODE_S = 60.0
"""Seconds that a batch without a node waits for one."""
LOSSES = 3
"""Number of nodes lost under a task with which the task counts as crashed: it may be the cause."""


class NodeAttempts(Attempts):
    def __init__(
        self,
        loop: Loop,
        request: BatchRequest,
        *,
        processes: NodeProcesses,
        limits: BatchLimits,
        on_no_cluster: Callable[[str], None],
        **given: Any,
    ) -> None:
        """`limits` gets the number of runs that the nodes offer, and `on_no_cluster` why the batch cannot go on.
        `given`: as with `Attempts`."""
        super().__init__(loop, request, processes=processes, **given)
        processes.owner = self
        self._nodes = processes
        self._limits = limits
        self._on_no_cluster = on_no_cluster
        self._crowding = 1.0
        self._losses: Counter[str] = Counter()
        """Nodes that were lost under a task."""
        self._full: set[str] = set()
        """Nodes without room for a workspace: they get no more runs."""
        self._drain, self._on_no_room = self._on_no_room, _leave_to_node
        self._waiting: Timer | None = None
        """Runs while there is no node."""

    def begin(self, journal: Journal) -> None:
        super().begin(journal)
        self.set_jobs(self._limits.jobs)

    # --- the choice of a node ---------------------------------------------------------------------------------

    def set_jobs(self, jobs: int) -> None:
        super().set_jobs(jobs)
        self._crowding = crowding(jobs, self._offered)

    @property
    def _offered(self) -> int:
        return sum(node.jobs for node in self._usable())

    def _usable(self) -> list[Node]:
        return [node for node in self._nodes.ready() if node.name not in self._full]

    @property
    def has_room(self) -> bool:
        return bool(self._choose_node())

    def _choose_node(self) -> str:
        running = Counter(active.node for active in self._active.values())
        return choose_node(
            NodeLoad(node.name, node.jobs, most_of_node(node.jobs, node.most_jobs, self._crowding), running[node.name])
            for node in self._usable()
        )

    def _launcher(self, active: Active, order: RunOrder) -> Launch:
        return partial(self._nodes.launch_on, active.node, order.begin.run, active.task.id)

    # --- the nodes --------------------------------------------------------------------------------------------

    def nodes_changed(self) -> None:
        self._limits.follow(self._offered)
        self.models.set_jobs(self._limits.jobs)
        if self._nodes.ready():
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None
            if not self._usable():
                self._drain("no node has room for a workspace")
        elif self._waiting is None and self._journal is not None:
            self._notice(f"no node is left: waits {NO_NODE_S:.0f} s for one to join")
            self._waiting = self._loop.call_later(NO_NODE_S, self._end_without_nodes)

    def _end_without_nodes(self) -> None:
        if self._nodes.is_closing:
            return
        if self._nodes.joining():
            self._waiting = self._loop.call_later(NO_NODE_S, self._end_without_nodes)
        else:
            self.nodes_failed(f"no node is left, and none has joined within {NO_NODE_S:.0f} s")

    def nodes_failed(self, reason: str) -> None:
        self._on_no_cluster(reason)

    def file_failed(self, run: str, reason: str) -> None:
        if (found := self._runs.get(run)) is not None:
            self._on_failure(f"{reason}: the changes of task {found.task!r} cannot be kept")
            found.kill(EndReason(TaskStatus.INTERRUPTED, reason))  # whatever it says of its end now

    # --- runs -------------------------------------------------------------------------------------------------

    def _worker_said(self, name: str, line: bytes | bytearray) -> None:
        if line:
            super()._worker_said(name, line)

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:
        child = run.child
        if run.said is not None and run.said.has_no_room:
            self._leave_full_node(self._active[run.task], outcome.reason)
        if isinstance(child, RemoteChild) and child.lost and run.said is None:
            outcome = self._lost(run, replace(outcome, exit_status=None), child.lost)
        elif self._request.workspace != "shared" and not outcome.diff and outcome.status is not TaskStatus.INTERRUPTED:
            self._remove_diff(run.task)
        super().run_ended(run, outcome)

    def _leave_full_node(self, active: Active, reason: str) -> None:
        """The task goes on elsewhere; the batch ends as one without room once no node has any."""
        if active.node not in self._full:
            self._full.add(active.node)
            self._notice(f"node {active.node} gets no more tasks: {reason}")
            self.nodes_changed()
        active.is_to_go_on = bool(self._usable())

    def _remove_diff(self, task: str) -> None:
        """That of an earlier attempt: the last one has changed nothing."""
        try:
            RunFolder(self._folder).diff(task).unlink(missing_ok=True)
        except OSError as error:
            self._on_failure(f"{error.filename}: {error.strerror}")

    def _lost(self, run: RunProcess, outcome: Outcome, reason: str) -> Outcome:
        """The outcome of a run whose node is gone. One that the batch has killed before keeps its own."""
        if outcome.status is not TaskStatus.CRASHED:
            return outcome
        self._losses[run.task] += 1
        if self._losses[run.task] >= LOSSES:
            return replace(outcome, reason=f"{reason}; the task was on {self._losses[run.task]} nodes that were lost")
        self._active[run.task].is_to_go_on = True
        return replace(outcome, status=TaskStatus.INTERRUPTED, reason=reason, may_pass=False)


def _leave_to_node(_reason: str) -> None:
    """One node without room is not the end of the batch."""
