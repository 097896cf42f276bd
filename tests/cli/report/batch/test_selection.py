"""Which tasks get a page if not all can have one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.report.batch.figures import AttemptFigures, OpenTaskState, TaskFigures
from cli.report.batch.selection import most_expensive, slowest, tasks_with_pages
from wire.batch.outcome import TaskStatus, Usage


def task(number, state=TaskStatus.OK, seconds=1.0, cost=0.1):
    status = state if isinstance(state, TaskStatus) else TaskStatus.ERROR
    is_final = isinstance(state, TaskStatus)
    attempt = AttemptFigures(1, status, "", 0, seconds, 0.0, cost, Usage(), 0, "m", is_final=is_final)
    attempts = [] if state is OpenTaskState.NOT_RUN else [attempt]
    return TaskFigures(f"t{number:05}", state=state, attempts=attempts)


def test_all_that_were_begun_have_one_if_there_is_room():
    tasks = [task(1), task(2, OpenTaskState.NOT_RUN), task(3, TaskStatus.TIMEOUT)]
    assert [one.id for one in tasks_with_pages(tasks, 2)] == ["t00001", "t00003"]


def test_failures_are_first_then_extremes_then_an_even_choice():
    tasks = [task(number) for number in range(1000)]
    tasks[700] = task(700, TaskStatus.TIMEOUT)
    tasks[300] = task(300, seconds=99.0)
    tasks[400] = task(400, cost=9.0)
    chosen = [one.id for one in tasks_with_pages(tasks, 130)]
    assert chosen[0] == "t00700"
    assert {"t00300", "t00400"} <= set(chosen)
    numbers = [int(one[1:]) for one in chosen]
    assert all(sum(begin <= number < begin + 100 for number in numbers) >= 10 for begin in range(0, 1000, 100))


@given(
    st.lists(
        st.sampled_from([TaskStatus.OK, TaskStatus.ERROR, OpenTaskState.NOT_RUN, OpenTaskState.RUNNING]), max_size=60
    ),
    st.integers(0, 70),
)
def test_never_more_than_asked_for_never_one_twice_and_no_failure_left_for_one_that_is_ok(states, most):
    tasks = [task(number, state) for number, state in enumerate(states)]
    chosen = tasks_with_pages(tasks, most)
    ids = [one.id for one in chosen]
    begun = sum(state is not OpenTaskState.NOT_RUN for state in states)
    assert len(ids) == len(set(ids)) == min(most, begun)
    failed = states.count(TaskStatus.ERROR)
    assert sum(one.has_failed for one in chosen) >= min(most, failed)


def test_a_cost_that_is_not_known_is_not_among_the_highest():
    assert [one.id for one in most_expensive([task(1, cost=None), task(2, cost=0.0), task(3)])] == ["t00003"]
    assert [one.id for one in slowest([task(1, seconds=2), task(2, OpenTaskState.NOT_RUN), task(3, seconds=3)])] == [
        "t00003",
        "t00001",
    ]
