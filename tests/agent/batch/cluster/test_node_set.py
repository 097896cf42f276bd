"""The nodes of a batch by a carrier that does what the test says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.cluster import node_set
from agent.batch.cluster.node_set import NodeSet
from agent.batch.cluster.nodes import NodeState
from tests.support.patience import soon
from wire.batch.node_frames import FrameError, Kill, Memory, Notice, Ready, Refused, SetUp, encode, to_node_reader

if TYPE_CHECKING:
    from agent.batch.cluster.nodes import Node
    from supervisor.loop.loop import Loop

READY = encode(Ready(jobs=2, most_jobs=9, host="h"))


class Stand:
    """Carrier and listener."""

    def __init__(self, loop: Loop) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.told: list[tuple[str, Any]] = []
        self.nodes = NodeSet(loop, self)
        self.nodes.carrier = self  # type: ignore[assignment]
        self.nodes.set_up = SetUp(node="", version="1", token="t", request=b"{}")

    def send(self, node: str, data: bytes) -> None:
        self.sent += [(node, frame) for frame in to_node_reader().feed(data)]

    def close_node(self, node: str) -> None:
        self.sent.append((node, "close"))

    def node_joined(self, node: Node, ready: Ready) -> None:
        self.told.append(("joined", node.name))

    def node_refused(self, node: Node) -> None:
        self.told.append(("refused", node.reasons))

    def node_lost(self, node: Node) -> None:
        self.told.append(("lost", node.reasons))

    def node_sent(self, node: Node, frame: Any) -> None:
        if isinstance(frame, Notice) and frame.text == "bad":
            raise FrameError("a bad frame")
        self.told.append(("sent", frame))

    def nodes_failed(self, reason: str) -> None:
        self.told.append(("failed", reason))

    def state(self) -> NodeState:
        return self.nodes.table["n"].state


@pytest.fixture
def stand(loop: Loop) -> Stand:
    made = Stand(loop)
    made.nodes.node_is_up("n", "10.0.0.1")
    return made


def test_a_node_is_set_up_by_its_name_and_joins(stand: Stand) -> None:
    ((name, frame),) = stand.sent
    assert (name, frame.node, frame.version) == ("n", "n", "1")
    assert not stand.nodes.send("n", Kill(run="1-1")), "it is not ready"
    for at in range(len(READY)):
        stand.nodes.node_said("n", READY[at : at + 1])
    assert (stand.told, stand.state()) == ([("joined", "n")], NodeState.READY)
    assert stand.nodes.send("n", Kill(run="1-1"))
    assert stand.sent[-1] == ("n", Kill(run="1-1"))
    stand.nodes.node_said("n", encode(Memory(runs={}, shared=1)))
    assert stand.told[-1] == ("sent", Memory(runs={}, shared=1))


def test_a_node_that_refuses_says_why(stand: Stand) -> None:
    stand.nodes.node_said("n", encode(Refused(reasons=("no folder", "no file"))) + READY)
    stand.nodes.node_said("n", READY)
    stand.nodes.node_is_gone("n", "exit 0")
    assert stand.told == [("refused", ("no folder", "no file"))]


def test_reasons_are_lines_and_not_too_many(stand: Stand) -> None:
    stand.nodes.node_said("n", encode(Refused(reasons=("\x1b[2Jno\nfolder", "x" * 10**6, *map(str, range(20_000))))))
    ((_, reasons),) = stand.told
    assert (reasons[0], len(reasons[1]), len(reasons), reasons[-1]) == ("no folder", 2000, 21, "and 19982 more")


def test_half_a_frame_of_a_node_that_is_gone_is_dropped(stand: Stand) -> None:
    stand.nodes.node_said("n", READY + b"\0\x10\0\0" + bytes(2**19))
    assert stand.nodes._readers
    stand.nodes.node_is_gone("n", "\x1b[2Jexit 1\n")
    assert (stand.nodes._readers, stand.told[-1]) == ({}, ("lost", ("exit 1",)))


def test_a_machine_without_a_node_program(stand: Stand) -> None:
    stand.nodes.node_cannot("m", "10.0.0.2", "another Python")
    assert stand.told == [("refused", ("another Python",))]


@pytest.mark.parametrize(
    "data", [b"\0\0\0\1x", b"\xff" * 4, READY, encode(Kill(run="1-1")), encode(Notice(text="bad"))]
)
def test_a_node_that_does_not_keep_to_the_frames_counts_as_gone(stand: Stand, data: bytes) -> None:
    stand.nodes.node_said("n", READY)
    stand.nodes.node_said("n", data)
    stand.nodes.node_said("n", data)
    (lost,) = [what for word, what in stand.told if word == "lost"]
    assert lost[0].startswith("it has sent ")
    assert stand.sent.count(("n", "close")) == 1
    assert not stand.nodes.send("n", Kill(run="1-1"))
    stand.nodes.node_is_gone("n", "exit 1")
    assert len(stand.told) == 2


def test_a_node_that_does_not_answer_is_refused(stand: Stand, loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_set, "SET_UP_S", 0.01)
    stand.nodes.node_is_up("slow", "10.0.0.2")
    soon(loop, lambda: bool(stand.told))
    assert stand.told[0][1][0].startswith("it has not said within")
    assert stand.sent[-1] == ("slow", "close")


def test_the_end_of_the_cluster_is_the_end_of_all_nodes(stand: Stand) -> None:
    stand.nodes.node_said("n", READY)
    stand.nodes.node_is_up("m", "")
    stand.nodes.carrier_failed("it is gone")
    assert stand.told[1:] == [("failed", "it is gone"), ("lost", ("it is gone",)), ("lost", ("it is gone",))]
    assert stand.nodes.failure == "it is gone"
