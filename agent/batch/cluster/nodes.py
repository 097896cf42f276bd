"""The nodes of a batch: the life of each, and what it offers. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable


class NodeState(Enum):
    """`NodeTable.move` changes it."""

    JOINING = "joining"
    """Its program has started, and looks whether the machine can run the tasks."""
    READY = "ready"
    REFUSED = "refused"
    """It cannot run the tasks of this batch."""
    GONE = "gone"


NEXT = {
    NodeState.JOINING: {NodeState.READY, NodeState.REFUSED, NodeState.GONE},
    NodeState.READY: {NodeState.GONE},
    NodeState.REFUSED: set[NodeState](),
    NodeState.GONE: set[NodeState](),
}


class Node(msgspec.Struct):
    """One node."""

    name: str
    address: str
    """For people."""
    state: NodeState = NodeState.JOINING
    reasons: tuple[str, ...] = ()
    """Why it cannot run tasks, or is gone."""
    jobs: int = 0
    """Runs at the same time for which it has cores and memory."""
    most_jobs: int = 0
    """Runs at the same time for which it has open files."""
    shared_memory: int = 0
    """Bytes of its template, model workers and host."""

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.address})" if self.address else self.name


class NodeTable:
    """All nodes of which the batch has heard, by name, in their order."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def add(self, name: str, address: str) -> Node:
        """A node that begins to join."""
        node = self._nodes[name] = Node(name, address)
        return node

    def __getitem__(self, name: str) -> Node:
        return self._nodes[name]

    def move(self, name: str, state: NodeState, *reasons: str) -> Node | None:
        """The node, in its new state. None, and nothing changes, if it cannot come into it from the state it is in."""
        node = self._nodes[name]
        if state not in NEXT[node.state]:
            return None
        node.state, node.reasons = state, reasons
        return node

    def in_state(self, state: NodeState) -> list[Node]:
        return [node for node in self._nodes.values() if node.state is state]

    def all(self) -> list[Node]:
        return list(self._nodes.values())


def is_decided(nodes: Iterable[Node]) -> bool:
    """Whether each node has said if it can run the tasks, or is gone."""
    return all(node.state is not NodeState.JOINING for node in nodes)


NO_NODE = "the cluster has no node that could run tasks: add one, or name another cluster with --address"


def opening_fault(nodes: Iterable[Node]) -> str:
    """Why a batch with these nodes, which have decided, does not begin: lines with each node and its reasons. Empty if
    it begins: some are ready, and none has refused."""
    found = list(nodes)
    refused = [node for node in found if node.state is NodeState.REFUSED]
    if not refused and any(node.state is NodeState.READY for node in found):
        return ""
    named = refused or found
    if not named:
        return NO_NODE
    head = f"{len(named)} of {counted(len(found), 'node')} cannot run this batch; nothing was started:"
    return "\n".join([head, *(f"  node {node.shown}: {reason}" for node in named for reason in node.reasons)])
