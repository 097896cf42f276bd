"""The memory of a tree: watched cheaply, counted when it has grown."""

from __future__ import annotations

from agent.batch.pool.processes import GROWTH, PROCESSES, RunMemory


class Machine:
    def __init__(self) -> None:
        self.size: dict[int, int] = {}
        self.own: dict[int, int] = {}
        self.below: dict[int, set[int]] = {}
        self.counted: list[int] = []

    def memory(self) -> RunMemory:
        return RunMemory(
            lambda: 1,
            size_of=lambda pid: self.size.get(pid, 0),
            own_of=self._own,
            children=self.below.get,
        )

    def _own(self, pid: int) -> int | None:
        self.counted.append(pid)
        return self.own.get(pid)


def test_pages_are_counted_only_after_growth() -> None:
    machine = Machine()
    machine.size, machine.own = {1: 70 << 20, 2: 9 << 20}, {1: 6 << 20, 2: 8 << 20}
    machine.below[1] = {2}
    memory = machine.memory()
    assert memory.sample() == 14 << 20
    assert memory.sample() == 14 << 20
    assert machine.counted == [1, 2]
    machine.size[1] += GROWTH
    machine.own[1] += GROWTH
    assert memory.sample() == (14 << 20) + GROWTH
    assert machine.counted == [1, 2, 1]
    del machine.size[2]
    assert memory.sample() == (6 << 20) + GROWTH
    assert (memory.now, memory.peak) == ((6 << 20) + GROWTH, (14 << 20) + GROWTH)


def test_a_process_that_cannot_be_counted_counts_whole() -> None:
    machine = Machine()
    machine.size = {1: 5 << 20}
    assert machine.memory().sample() == 5 << 20


def test_a_fork_bomb_does_not_keep_the_batch_busy() -> None:
    machine = Machine()
    machine.size = dict.fromkeys(range(1, 10_000), 1)
    machine.below[1] = set(range(2, 10_000))
    assert machine.memory().sample() == PROCESSES
