"""The processes of a batch on its nodes: in place of `agent.batch.pool.processes.Processes`, for the same batch.

This machine has the carrier's processes and the reaper; template, model workers and shared extensions are on each node.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from agent.batch.cluster.arriving_files import ArrivingFiles
from agent.batch.cluster.extension_facts import folder_extensions
from agent.batch.cluster.grants import GrantSet
from agent.batch.cluster.node_set import SHOWN, NodeSet
from agent.batch.cluster.nodes import NodeState, is_decided, opening_fault
from agent.batch.cluster.remote_child import RemoteChild
from agent.batch.cluster.set_up import set_up
from agent.batch.journal.errors import FolderError
from agent.batch.pool.processes import Processes, ProcessesError, RunMemory
from agent.batch.request import NodeView
from supervisor.home.config import ConfigError
from supervisor.home.zot_home import zot_home
from supervisor.process.child import SpawnError
from supervisor.process.stop_policy import Patience
from wire.batch import node_frames as frames
from wire.batch.host_lines import Serving, decode_from_host
from wire.lenient_json import UNREADABLE
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent.batch.cluster.carrier import Carrier, CarrierListener
    from agent.batch.cluster.nodes import Node
    from agent.batch.journal.folder import RunFolder
    from agent.batch.pool.leases import Lease, Workers
    from agent.batch.pool.processes import RunChild
    from agent.batch.request import BatchControls, BatchRequest, RunView
    from agent.model.provider import Line
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from supervisor.process.table import Identity
    from supervisor.process.teardown import Stoppable
    from wire.batch.task import Task

KILL_S = 60.0
"""Seconds that a node has to kill a run."""
PATIENCE = Patience(ask=20.0, term=2.0)
"""For the processes of the carrier: nodes stop their extensions first."""


class MakeCarrier(Protocol):
    """Makes the carrier of a batch; it is not started."""

    def __call__(self, loop: Loop, listener: CarrierListener) -> Carrier: ...


class NodesOwner(Protocol):
    """Whom the processes tell of their nodes: the attempts of the batch."""

    def nodes_changed(self) -> None:
        """A node has become ready, or is gone."""

    def nodes_failed(self, reason: str) -> None:
        """The batch cannot go on: there is no cluster any longer."""

    def file_failed(self, run: str, reason: str) -> None:
        """A file of this run cannot be written into RUNDIR."""


class NodeProcesses(Processes):
    """From `open` to `close`. Set `owner` before `open`."""

    owner: NodesOwner

    def __init__(
        self,
        loop: Loop,
        request: BatchRequest,
        tasks: Sequence[Task],
        folder: RunFolder,
        *,
        controls: BatchControls,
        make_carrier: MakeCarrier | None,
        version: str,
        say: Callable[[str], None],
        advise: Callable[[str], None],
        on_shared: Callable[[Serving], None],
        **given: Any,
    ) -> None:
        """`controls` end the wait for the nodes. `make_carrier` None: for Ray. `given` and the rest as with
        `Processes`."""
        super().__init__(loop, version=version, say=say, has_template=False, **given)
        self._nodes = NodeSet(loop, self)
        make = make_carrier or partial(_ray_carrier, request, version)
        self._nodes.carrier = self._carrier = make(loop, self._nodes)
        self._request = request
        self._tasks = tasks
        self._folder = folder
        self._controls = controls
        self._version = version
        self._advise = advise
        self._on_shared = on_shared
        self._files = ArrivingFiles(folder)
        self._children: dict[str, tuple[Node, RemoteChild]] = {}
        """By run."""
        self._grants: GrantSet | None = None
        self._is_open = False
        """Whether the batch has begun with its nodes."""
        self.is_closing = False
        self._has_told_shared = False

    # --- from the beginning to the end ------------------------------------------------------------------------

    def open(self, *, is_needed: bool = True) -> None:
        """Also waits until all nodes that the cluster has now are ready. Raises `ProcessesError` if one of them cannot
        run the tasks. The switches of the batch end the wait."""
        super().open(is_needed=False)
        if not is_needed:
            return
        batch, run = self._folder.read_batch(), self._request.run
        try:
            extensions = folder_extensions(run, self._tasks, run.home or zot_home())
        except (ConfigError, OSError) as error:
            raise ProcessesError(str(error)) from None
        self._nodes.set_up = set_up(
            self._request, self._tasks, version=self._version, token=self.token,
            bases=() if batch is None else batch.bases, extensions=extensions,
        )  # fmt: skip
        self._carrier.start()
        self._loop.run_until(lambda: self._nodes.is_up or self._is_given_up)
        found = self._nodes.table.all()
        self._loop.run_until(lambda: self._is_given_up or is_decided(found))
        if fault := self._nodes.failure or ("" if self._is_given_up else opening_fault(found)):
            raise ProcessesError(fault)
        self._is_open = True

    @property
    def _is_given_up(self) -> bool:
        """Whether the start has no use for nodes any longer."""
        return bool(self._nodes.failure) or self._controls.is_draining or self._controls.is_stopping

    def close(self, others: Sequence[Stoppable] = ()) -> None:
        self.is_closing = True
        carriers = self._carrier.stoppables()
        self._patience_with |= dict.fromkeys(carriers, PATIENCE)
        super().close([*others, *carriers])

    def ready(self) -> list[Node]:
        """The nodes that can run tasks."""
        return self._nodes.table.in_state(NodeState.READY)

    def nodes(self, runs: Iterable[RunView]) -> tuple[NodeView, ...]:
        running = Counter(run.node for run in runs)
        return tuple(
            NodeView(node.name, node.address, running[node.name], node.jobs, _trouble(node))
            for node in self._nodes.table.all()
        )

    def joining(self) -> list[Node]:
        """The nodes that may become ready."""
        return self._nodes.table.in_state(NodeState.JOINING)

    # --- runs -------------------------------------------------------------------------------------------------

    def launch_on(
        self,
        name: str,
        run: str,
        task: str,
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
    ) -> RunChild:
        """As `agent.batch.pool.processes.Launch`, for the run of this task on the node of this name."""
        node = self._nodes.table[name]
        if node.state is not NodeState.READY:
            raise _gone(node)
        child = RemoteChild(
            self._loop, run, partial(self._nodes.send, name), link=link, stderr=stderr,
            on_stdout=on_stdout, on_exit=on_exit, on_failed=on_failed, on_over=partial(self._over, run),
        )  # fmt: skip
        self._children[run] = node, child
        self._files.expect(run, task)
        return child

    def _over(self, run: str) -> None:
        del self._children[run]
        self._files.end(run)

    def kill_tree(self, child: RunChild) -> set[Identity]:
        """Has the tree killed on its node; knows none of its processes."""
        assert isinstance(child, RemoteChild)
        child.kill()
        self._loop.call_later(KILL_S, partial(self._look_after_kill, child))
        return set()

    def _look_after_kill(self, child: RemoteChild) -> None:
        for node, running in list(self._children.values()):
            if running is child:
                self._nodes.give_up(node.name, f"it has not killed a run within {KILL_S:.0f} s")

    def memory_of(self, child: RunChild) -> RunMemory | None:
        assert isinstance(child, RemoteChild)
        return RunMemory(
            lambda: child.pid, size_of=lambda _pid: child.memory, own_of=lambda _pid: None, children=lambda _pid: None
        )

    def memory_bytes(self, others: Iterable[int]) -> int:  # noqa: ARG002  (model workers are the nodes')
        return sum(node.shared_memory for node in self.ready())

    def make_workers(
        self,
        *,
        on_line: Callable[[Lease, Line, bytes | bytearray], None],
        on_failed: Callable[[Lease, str], None],
    ) -> Workers:
        self._grants = GrantSet(self._send_to_run, on_line=on_line, on_failed=on_failed)
        return self._grants

    def _send_to_run(self, frame: frames.Grant | frames.Withdraw) -> bool:
        found = self._children.get(frame.run)
        return found is not None and self._nodes.send(found[0].name, frame)

    # --- from the nodes ---------------------------------------------------------------------------------------

    def node_joined(self, node: Node, ready: frames.Ready) -> None:
        if ready.serving is not None and not self._has_told_shared:
            self._has_told_shared = True
            try:
                serving = decode_from_host(ready.serving)
            except UNREADABLE as error:
                raise frames.FrameError(f"a line of its host that cannot be read: {error}") from None
            if isinstance(serving, Serving):
                self._on_shared(serving)
        if self._is_open:
            self._say(f"node {node.shown} has joined")
        self.owner.nodes_changed()

    def node_refused(self, node: Node) -> None:
        if self._is_open:
            self._say(f"node {node.shown} is not used: {'; '.join(node.reasons)}")

    def node_lost(self, node: Node) -> None:
        if self.is_closing:
            return
        if self._is_open:
            self._say(f"node {node.shown} is lost: {'; '.join(node.reasons)}")
        for its_node, child in list(self._children.values()):
            if its_node is node:
                child.lose(str(_gone(node)))
        self.owner.nodes_changed()

    def nodes_failed(self, reason: str) -> None:
        if self._is_open and not self.is_closing:
            self.owner.nodes_failed(reason)

    def node_sent(self, node: Node, frame: frames.FromNode) -> None:
        """Raises `FrameError`."""
        if isinstance(frame, frames.Notice):
            (self._advise if frame.is_advice else self._say)(f"node {node.name}: {one_line(frame.text, SHOWN)}")
        elif isinstance(frame, frames.Memory):
            node.shared_memory = frame.shared
            for run, used in frame.runs.items():
                if run in self._children:
                    self._children[run][1].memory = used
        elif not isinstance(frame, frames.Ready | frames.Refused) and frame.run in self._children:
            its_node, child = self._children[frame.run]
            if its_node is not node:
                raise frames.FrameError(f"a frame of a run of node {its_node.name}")
            self._run_sent(child, frame)

    def _run_sent(self, child: RemoteChild, frame: frames.Frame) -> None:
        match frame:
            case frames.Output(data=data):
                child.on_stdout(data)
            case frames.Errors(data=data):
                child.errors(data)
            case frames.Told():
                child.told(frame)
            case frames.Exited():
                child.exited(frame)
            case frames.NotStarted():
                child.not_started(frame)
            case frames.File():
                try:
                    self._files.take(frame)
                except (OSError, FolderError) as error:
                    self.owner.file_failed(frame.run, str(error))
            case frames.Replied() if self._grants is not None:
                self._grants.replied(frame)
            case frames.Broke() if self._grants is not None:
                self._grants.broke(frame)


def _ray_carrier(request: BatchRequest, version: str, loop: Loop, listener: CarrierListener) -> Carrier:
    from agent.batch.cluster.ray.ray_carrier import RayCarrier  # tests have another carrier

    carrier: Carrier = RayCarrier(loop, listener, address=request.address, upload=request.upload, version=version)
    return carrier


def _trouble(node: Node) -> str:
    word = {NodeState.REFUSED: "not used: ", NodeState.GONE: "lost: "}.get(node.state)
    return "" if word is None else word + "; ".join(node.reasons)


def _gone(node: Node) -> SpawnError:
    error = SpawnError(f"node {node.name} was lost: {'; '.join(node.reasons)}")
    error.may_pass = True
    return error
