"""The life of nodes, and the words when a batch cannot begin with them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.cluster.nodes import NEXT, NO_NODE, NodeState, NodeTable, is_decided, opening_fault


@given(st.lists(st.sampled_from(NodeState), max_size=8))
def test_a_node_changes_as_the_table_of_states_says(steps: list[NodeState]) -> None:
    table = NodeTable()
    node = table.add("n", "")
    for step in steps:
        before = node.state
        moved = table.move("n", step, "why")
        assert (moved is node) == (step in NEXT[before])
        assert node.state is (step if moved else before)


def table_of(*states: NodeState) -> Any:
    table = NodeTable()
    for number, state in enumerate(states):
        table.add(f"n{number}", f"10.0.0.{number}")
        table.move(f"n{number}", state, f"reason {number}", "and more")
    return table.all()


@pytest.mark.parametrize(
    ("states", "fault"),
    [
        ((), NO_NODE),
        ((NodeState.READY,), ""),
        ((NodeState.READY, NodeState.GONE), ""),
        (
            (NodeState.READY, NodeState.REFUSED),
            "1 of 2 nodes cannot run this batch; nothing was started:\n"
            "  node n1 (10.0.0.1): reason 1\n  node n1 (10.0.0.1): and more",
        ),
        (
            (NodeState.GONE,),
            "1 of 1 node cannot run this batch; nothing was started:\n"
            "  node n0 (10.0.0.0): reason 0\n  node n0 (10.0.0.0): and more",
        ),
    ],
)
def test_a_batch_begins_unless_a_node_has_refused(states: tuple[NodeState, ...], fault: str) -> None:
    nodes = table_of(*states)
    assert is_decided(nodes)
    assert opening_fault(nodes) == fault


def test_a_node_that_joins_has_not_decided() -> None:
    table = NodeTable()
    table.add("n", "")
    assert not is_decided(table.all())
