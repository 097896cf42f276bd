"""The frames between the driver and its process for Ray: `wire.batch.node_frames.encode` writes them.

The bytes of nodes are only carried. A node is named as in `agent.batch.cluster.carrier`.
"""

from __future__ import annotations

import msgspec

from wire.batch.node_frames import Frame, FrameReader

PIECE = 1024 * 1024
"""Maximum of bytes for a node in one frame."""


class Connect(Frame, frozen=True, kw_only=True, tag="connect"):
    """The first frame to the process."""

    address: str
    """As in `agent.batch.cluster.ray.address`."""
    version: str
    """The version of zot that each node must have."""
    upload: str = ""
    """The folder of which each node gets a copy; empty for none."""
    program: str = ""
    """The path of the node program on each machine; empty for the one of its zot."""


class Data(Frame, frozen=True, kw_only=True, tag="data"):
    """Bytes for, or of, a node program."""

    node: str
    data: bytes


class CloseNode(Frame, frozen=True, kw_only=True, tag="close_node"):
    """The input of the node program is closed. `node_gone` follows."""

    node: str


ToRay = Connect | Data | CloseNode


class Connected(Frame, frozen=True, kw_only=True, tag="connected"):
    """Each node that the cluster had at first has started or cannot."""


class NodeUp(Frame, frozen=True, kw_only=True, tag="node_up"):
    node: str
    address: str


class NodeCannot(Frame, frozen=True, kw_only=True, tag="node_cannot"):
    node: str
    address: str
    reason: str


class NodeGone(Frame, frozen=True, kw_only=True, tag="node_gone"):
    node: str
    reason: str


class Failed(Frame, frozen=True, kw_only=True, tag="failed"):
    """The last frame: there is no cluster, or no longer."""

    reason: str


FromRay = Connected | NodeUp | NodeCannot | Data | NodeGone | Failed


def to_ray_reader() -> FrameReader[ToRay]:
    """For the process for Ray."""
    return FrameReader(msgspec.msgpack.Decoder(ToRay))


def from_ray_reader() -> FrameReader[FromRay]:
    """For the driver."""
    return FrameReader(msgspec.msgpack.Decoder(FromRay))
