"""Whoever brings bytes between the driver and the node programs: for the driver, the machines are what it says.

The engine talks to nodes through it alone, so that it does not know of Ray. All methods are called from the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.process.teardown import Stoppable


class CarrierListener(Protocol):
    """Whom a carrier tells."""

    def carrier_is_up(self) -> None:
        """Once: the cluster is reached, and `node_is_up` was called for each node that it has now."""

    def carrier_failed(self, reason: str) -> None:
        """There is no cluster, or no longer: nothing more is told. The reason says what to do. A cluster that does not
        answer counts as none, after a time that the carrier knows."""

    def node_is_up(self, node: str, address: str) -> None:
        """The node program of this node has started. `node` is its name, unique for good: a machine that comes back is
        another node. `address` is for people."""

    def node_cannot(self, node: str, address: str, reason: str) -> None:
        """A machine of the cluster on which no node program can be started: another Python, no zot, no room."""

    def node_said(self, node: str, data: bytes) -> None:
        """Bytes of the node program, in order."""

    def node_is_gone(self, node: str, reason: str) -> None:
        """Once for each node that was up: it sends nothing more, and all its processes have ended or will."""


class Carrier(Protocol):
    """Made with a loop and a listener."""

    def start(self) -> None:
        """Connects, and starts a node program on each machine, now and when one is added."""

    def send(self, node: str, data: bytes) -> None:
        """Sends bytes to the node program. Nothing happens if the node is gone."""

    def close_node(self, node: str) -> None:
        """Closes the input of the node program, which then ends itself; or kills it. `node_is_gone` follows."""

    def stoppables(self) -> Sequence[Stoppable]:
        """The processes on this machine to stop at the end. They close all nodes."""
