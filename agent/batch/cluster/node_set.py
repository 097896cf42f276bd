"""The nodes of a running batch: sets each up, brings it frames, and tells of its life. A node that does not keep to the
frames, or does not answer, counts as gone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from agent.batch.cluster.nodes import NodeState, NodeTable
from wire.batch.node_frames import FrameError, Ready, Refused, encode, from_node_reader
from wire.text import one_line

if TYPE_CHECKING:
    from agent.batch.cluster.carrier import Carrier
    from agent.batch.cluster.nodes import Node
    from supervisor.loop.loop import Loop
    from wire.batch.node_frames import FrameReader, FromNode, SetUp, ToNode

SET_UP_S = 120.0
"""Seconds from the start of a node's program until it has said whether it can run the tasks."""
REASONS = 20
"""Maximum of reasons of one node that are kept: a node without its folders has one for each."""
SHOWN = 2000
"""Maximum of one reason in characters."""


class NodesListener(Protocol):
    """Whom the nodes tell. All methods are called from the loop."""

    def node_joined(self, node: Node, ready: Ready) -> None:
        """It can run tasks."""

    def node_refused(self, node: Node) -> None:
        """It cannot run tasks, for its reasons."""

    def node_lost(self, node: Node) -> None:
        """It is gone, for its reason; it had joined, or was about to."""

    def node_sent(self, node: Node, frame: FromNode) -> None:
        """A frame of a run, or a notice. Raises `FrameError` for one that no node sends."""

    def nodes_failed(self, reason: str) -> None:
        """There is no cluster, or no longer; `node_lost` is called for each node after it."""


class NodeSet:
    """`agent.batch.cluster.carrier.CarrierListener`. Set `carrier` before it starts, and `set_up` before that."""

    carrier: Carrier
    set_up: SetUp
    """The first frame, without the name of the node."""

    def __init__(self, loop: Loop, listener: NodesListener) -> None:
        self.table = NodeTable()
        self.is_up = False
        """Whether the cluster is reached."""
        self.failure = ""
        """Why there is no cluster, once that is known."""
        self._loop = loop
        self._listener = listener
        self._readers: dict[str, FrameReader[FromNode]] = {}

    def send(self, name: str, frame: ToNode) -> bool:
        """Returns False, and sends nothing, if the node is not ready, or no longer."""
        if self.table[name].state is not NodeState.READY:
            return False
        self.carrier.send(name, encode(frame))
        return True

    def give_up(self, name: str, reason: str) -> None:
        """The node does not do what nodes do: it counts as gone."""
        self.carrier.close_node(name)
        self._lose(name, reason)

    # --- CarrierListener --------------------------------------------------------------------------------------

    def carrier_is_up(self) -> None:
        self.is_up = True

    def carrier_failed(self, reason: str) -> None:
        self.failure = reason
        self._listener.nodes_failed(reason)
        for node in (*self.table.in_state(NodeState.READY), *self.table.in_state(NodeState.JOINING)):
            self._lose(node.name, reason)

    def node_is_up(self, node: str, address: str) -> None:
        self.table.add(node, address)
        self._readers[node] = from_node_reader()
        self.carrier.send(node, encode(replace(self.set_up, node=node)))
        self._loop.call_later(SET_UP_S, partial(self._refuse_late, node))

    def node_cannot(self, node: str, address: str, reason: str) -> None:
        self.table.add(node, address)
        self._refuse(node, reason)

    def node_said(self, node: str, data: bytes) -> None:
        found = self.table[node]
        if found.state not in (NodeState.JOINING, NodeState.READY):
            return
        try:
            for frame in self._readers[node].feed(data):
                self._take(found, frame)
        except FrameError as error:
            self.give_up(node, f"it has sent {error}")

    def node_is_gone(self, node: str, reason: str) -> None:
        self._lose(node, reason)

    # --- the life of a node -----------------------------------------------------------------------------------

    def _take(self, node: Node, frame: FromNode) -> None:
        if isinstance(frame, Ready):
            if self.table.move(node.name, NodeState.READY) is None:
                raise FrameError("a second frame `ready`")
            node.jobs, node.most_jobs = max(1, frame.jobs), max(1, frame.most_jobs)
            self._listener.node_joined(node, frame)
        elif isinstance(frame, Refused):
            self._refuse(node.name, *frame.reasons)
        else:
            self._listener.node_sent(node, frame)

    def _refuse_late(self, name: str) -> None:
        if self._refuse(name, f"it has not said within {SET_UP_S:.0f} s whether it can run the tasks"):
            self.carrier.close_node(name)

    def _refuse(self, name: str, *reasons: str) -> bool:
        kept = [one_line(reason, SHOWN) for reason in reasons[:REASONS]]
        if len(reasons) > REASONS:
            kept.append(f"and {len(reasons) - REASONS} more")
        if (node := self.table.move(name, NodeState.REFUSED, *kept)) is None:
            return False
        self._readers.pop(name, None)
        self._listener.node_refused(node)
        return True

    def _lose(self, name: str, reason: str) -> None:
        if (node := self.table.move(name, NodeState.GONE, one_line(reason, SHOWN))) is not None:
            self._readers.pop(name, None)  # it may have half a frame
            self._listener.node_lost(node)
