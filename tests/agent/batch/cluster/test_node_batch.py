"""Batches on two node programs: replayed tasks, with nodes that go and come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.batch_place import when
from tests.support.node_place import NodePlace
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.batch import Batch


@pytest.fixture
def place(tmp_path: Path) -> NodePlace:
    return NodePlace(tmp_path)


def test_replayed_tasks_on_two_nodes(place: NodePlace) -> None:
    end = place.run(place.replayed(6))
    assert (end.exit_code, end.statuses) == (0, {"ok": 6})
    ends = place.ends()
    assert {one.text for found in ends.values() for one in found} == {"well done"}
    assert {one.node for found in ends.values() for one in found} == {"n1", "n2"}
    assert all((place.rundir / "runs" / task / "1.events.jsonl").read_bytes().endswith(b"}\n") for task in ends)


def test_a_node_is_killed_and_one_is_added(place: NodePlace) -> None:
    def disturb(batch: Batch) -> None:
        when(batch, lambda: len(place.ends()) >= 6, lambda: (place.carrier.kill_node("n1"), place.carrier.add_node()))

    end = place.run(place.replayed(20), do=disturb)
    assert (end.exit_code, end.statuses) == (0, {"ok": 20})
    assert all(len(found) == 1 for found in place.ends().values())
    lost = [one for found in place.ends(final=False).values() for one in found if one.status is TaskStatus.INTERRUPTED]
    assert all(one.reason.startswith("node n1 was lost: the node program ended (signal SIGKILL)") for one in lost)
