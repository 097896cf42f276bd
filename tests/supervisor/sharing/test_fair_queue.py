"""No run waits longer than a turn of the others, however much they send; nothing is lost or sent twice."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from supervisor.sharing.fair_queue import (
    AT_ONCE,
    BYTES_LIMIT,
    MOST,
    WAITING_LIMIT,
    YOUNG_S,
    FairQueue,
)

RUNS = range(4)


def queue_of(*runs: int) -> FairQueue[object]:
    queue: FairQueue[object] = FairQueue()
    for run in runs:
        queue.join(run)
    return queue


@given(st.lists(st.tuples(st.sampled_from(RUNS), st.integers(1, 9)), max_size=60), st.integers(0, 12))
def test_no_run_is_passed_over_twice_while_it_may_go(added: list[tuple[int, int]], bound: int) -> None:
    queue = queue_of(*RUNS)
    for number, (run, size) in enumerate(added):
        queue.add(run, number, size)
    served_since = {run: Counter[int]() for run in RUNS}
    now = 0.0
    for key in range(len(added) * 2):
        waiting = {run for run in RUNS if queue.waiting(run)}
        taken = queue.take(now)
        if taken is None:
            now += YOUNG_S
            continue
        run, _ = taken
        if key % 3 < bound % 3:  # some are events, which are never under way
            queue.began(run, key, now)
        served_since[run] = Counter()
        for other in waiting - {run}:
            served_since[other] = served_since[other] + Counter([run])
            if queue.has(other) and not queue._lines[other].sent:
                assert served_since[other][run] <= 1, "a run with nothing under way was passed over twice"
    assert all(not queue.waiting(run) for run in RUNS) or now > 0


class Traffic(RuleBasedStateMachine):
    """Requests and events of runs that come and go, against a model of lists."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: FairQueue[int] = FairQueue()
        self.waiting: dict[int, list[int]] = {}
        self.under_way: dict[int, set[int]] = {}
        self.seen: set[int] = set()
        self.now = 0.0
        self.number = 0

    @rule(run=st.sampled_from(RUNS))
    def join(self, run: int) -> None:
        if run not in self.waiting:
            self.queue.join(run)
            self.waiting[run], self.under_way[run] = [], set()

    @rule(run=st.sampled_from(RUNS))
    def leave(self, run: int) -> None:
        assert self.queue.leave(run) == self.waiting.pop(run, [])
        self.under_way.pop(run, None)

    @rule(run=st.sampled_from(RUNS), size=st.integers(1, BYTES_LIMIT), first=st.booleans(), many=st.integers(1, 99))
    def add(self, run: int, size: int, first: bool, many: int) -> None:
        for _ in range(many if run in self.waiting else 0):
            self.number += 1
            line = self.waiting[run]
            if first:
                self.queue.put_back(run, self.number, size)
                line.insert(0, self.number)
            elif self.queue.add(run, self.number, size):
                line.append(self.number)
            else:
                assert line, "a single item may have any size"

    @rule(begins=st.booleans())
    def take(self, begins: bool) -> None:
        taken = self.queue.take(self.now)
        if taken is None:
            return
        run, item = taken
        assert item == self.waiting[run].pop(0), "in its order"
        assert item not in self.seen
        self.seen.add(item)
        if begins:
            if self.queue.is_serial:
                assert not any(self.under_way.values())
            self.queue.began(run, item, self.now)
            self.under_way[run].add(item)
            assert len(self.under_way[run]) <= MOST

    @rule(run=st.sampled_from(RUNS), data=st.data())
    def end(self, run: int, data: st.DataObject) -> None:
        if self.under_way.get(run):
            key = data.draw(st.sampled_from(sorted(self.under_way[run])))
            self.queue.ended(run, key)
            self.queue.ended(run, key)  # a second end changes nothing
            self.under_way[run].remove(key)

    @rule(run=st.sampled_from(RUNS), data=st.data())
    def remove(self, run: int, data: st.DataObject) -> None:
        if self.waiting.get(run):
            item = data.draw(st.sampled_from(self.waiting[run]))
            assert self.queue.remove(run, item)
            assert not self.queue.remove(run, item)
            self.waiting[run].remove(item)

    @rule(passed=st.floats(0, 2 * YOUNG_S))
    def wait(self, passed: float) -> None:
        self.now += passed

    @rule(serial=st.booleans())
    def switch(self, serial: bool) -> None:
        self.queue.is_serial = serial

    @invariant()
    def they_agree(self) -> None:
        for run, line in self.waiting.items():
            assert self.queue.waiting(run) == line
            assert self.queue.has(run) == bool(line or self.under_way[run])
        assert self.queue.is_waiting == any(self.waiting.values())
        assert self.queue._under_way == sum(map(len, self.under_way.values()))
        assert self.queue.next_at(self.now) is None or self.queue.next_at(self.now) > self.now


test_nothing_is_lost_or_doubled = Traffic.TestCase


def test_a_run_that_floods_fills_its_own_line_alone() -> None:
    queue = queue_of(1, 2)
    added = [queue.add(1, number, 10) for number in range(WAITING_LIMIT + 5)]
    assert added == [True] * WAITING_LIMIT + [False] * 5
    assert queue.add(2, "mine", 10)
    assert [run for run, _ in filter(None, (queue.take(0.0) for _ in range(3)))] == [1, 2, 1]


def test_bytes_are_bounded_but_a_single_one_may_have_any_size() -> None:
    queue = queue_of(1)
    assert queue.add(1, "huge", BYTES_LIMIT * 3)
    assert not queue.add(1, "small", 1)
    assert queue.take(0.0) == (1, "huge")
    assert queue.add(1, "small", BYTES_LIMIT)


def test_at_most_two_young_requests_and_sixteen_in_all_are_under_way() -> None:
    queue = queue_of(1)
    for number in range(30):
        queue.add(1, number, 1)
    sent, now = 0, 0.0
    while (taken := queue.take(now)) or queue.next_at(now) is not None:
        if taken is None:
            now = queue.next_at(now) or now
            continue
        queue.began(1, sent, now)
        sent += 1
        assert sum(now < at + YOUNG_S for at in queue._lines[1].sent.values()) <= AT_ONCE
    assert sent == MOST
    queue.ended(1, 0)
    assert queue.take(now + 1) is not None


def test_in_serial_mode_one_request_of_all_runs_is_under_way() -> None:
    queue = queue_of(1, 2)
    queue.is_serial = True
    queue.add(1, "a", 1)
    queue.add(2, "b", 1)
    assert queue.take(0.0) == (1, "a")
    queue.began(1, 1, 0.0)
    assert queue.take(9.0) is None
    assert queue.next_at(9.0) is None
    assert not queue.may_pass(2, 9.0)
    queue.leave(1)  # its request is freed with it
    assert queue.take(9.0) == (2, "b")


@pytest.mark.parametrize("begun", [0, 1])
def test_what_is_put_back_goes_first(begun: int) -> None:
    queue = queue_of(1)
    queue.add(1, "later", 1)
    queue.put_back(1, "again", BYTES_LIMIT * 2)
    for key in range(begun):
        queue.began(1, key, 0.0)
    assert [queue.take(0.0), queue.take(0.0)] == [(1, "again"), (1, "later")]
    assert not queue.is_waiting


def test_one_of_two_equal_items_is_removed_by_identity() -> None:
    first, second = ["same"], ["same"]
    queue = queue_of(1)
    queue.add(1, first, 1)
    queue.add(1, second, 1)
    assert queue.remove(1, second)
    assert queue.waiting(1)[0] is first
