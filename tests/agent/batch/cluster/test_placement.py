"""Property tests of the choice of a node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.cluster.placement import NodeLoad, choose_node, crowding, most_of_node

sizes = st.integers(1, 64)
loads = st.lists(
    st.builds(NodeLoad, st.text("abc", min_size=1, max_size=3), sizes, sizes, st.integers(0, 64)),
    unique_by=lambda load: load.name, max_size=6,
)  # fmt: skip


@given(loads)
def test_a_node_with_room_is_chosen_if_there_is_one(found: list[NodeLoad]) -> None:
    chosen = choose_node(found)
    free = {load.name: load for load in found if load.running < load.most}
    assert (chosen in free) if free else chosen == ""


@given(loads)
def test_no_other_with_room_runs_less_for_its_size(found: list[NodeLoad]) -> None:
    chosen = choose_node(found)
    if chosen:
        mine = next(load for load in found if load.name == chosen)
        for load in found:
            if load.running < load.most:
                assert (mine.running / mine.jobs, mine.name) <= (load.running / load.jobs, load.name)


@given(st.lists(sizes, min_size=1, max_size=5), st.integers(1, 300))
def test_nodes_have_room_for_as_many_runs_as_are_wanted(jobs: list[int], wanted: int) -> None:
    factor = crowding(wanted, sum(jobs))
    running = [0] * len(jobs)
    for _ in range(wanted):
        chosen = choose_node(
            NodeLoad(str(at), size, most_of_node(size, 10_000, factor), running[at]) for at, size in enumerate(jobs)
        )
        assert chosen
        running[int(chosen)] += 1
    if wanted <= sum(jobs):
        assert all(count <= size for count, size in zip(running, jobs, strict=True)), "no node has more than it offers"


@given(sizes, sizes, st.floats(1.0, 20.0))
def test_open_files_limit_a_node(jobs: int, most: int, factor: float) -> None:
    assert 1 <= most_of_node(jobs, most, factor) <= max(1, most)


def test_crowding_without_a_node() -> None:
    assert crowding(8, 0) == 1.0
