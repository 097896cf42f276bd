"""The next step of a batch, and the reason why it ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.schedule import Situation, Step, next_step, stop_reason

COUNTS = st.integers(0, 4)
SITUATIONS = st.builds(
    Situation,
    jobs=st.integers(1, 4),
    busy=COUNTS,
    retries=COUNTS,
    waiting=COUNTS,
    later=COUNTS,
    is_paused=st.booleans(),
    is_draining=st.booleans(),
    is_stopping=st.booleans(),
    limit=st.sampled_from([None, "budget", "deadline", "failures"]),
)


@given(SITUATIONS)
def test_a_step_is_possible_and_allowed(now: Situation) -> None:
    step = next_step(now)
    may_start = not (now.is_paused or now.is_draining or now.is_stopping or now.limit)
    if step in (Step.RETRY, Step.NEW):
        assert may_start
        assert now.busy < now.jobs
        assert now.retries if step is Step.RETRY else now.waiting and not now.retries
    if step is Step.END:
        assert not now.busy
        assert now.is_draining or now.is_stopping or now.limit or now.is_done
    if step is Step.WAIT:
        assert now.busy or now.is_paused or now.later


@given(SITUATIONS)
def test_a_batch_never_waits_for_nothing(now: Situation) -> None:
    """A batch in which no task runs starts one or ends, unless the user has paused it or a retry waits for its time."""
    if not now.busy and not now.is_paused and not now.later:
        assert next_step(now) is not Step.WAIT


@given(SITUATIONS, st.booleans())
def test_done_means_that_nothing_is_left(now: Situation, was_interrupted: bool) -> None:
    reason = stop_reason(now, was_interrupted=was_interrupted)
    assert (reason == "done") == (now.is_done and not was_interrupted)


@given(st.integers(1, 4), st.lists(st.integers(0, 2), max_size=12), st.integers(0, 2))
def test_each_task_is_started_once_and_once_more_for_each_failure(jobs: int, failures: list[int], retries: int) -> None:
    """A batch that is played through: a task fails so many times."""
    waiting, again, running = list(range(len(failures))), list[int](), list[int]()
    starts = [0] * len(failures)
    while True:
        step = next_step(Situation(jobs=jobs, busy=len(running), retries=len(again), waiting=len(waiting)))
        if step is Step.END:
            break
        if step is Step.WAIT:
            task = running.pop(0)
            if starts[task] <= min(failures[task], retries):
                again.append(task)
            continue
        task = (again if step is Step.RETRY else waiting).pop(0)
        starts[task] += 1
        running.append(task)
        assert len(running) <= jobs
    assert starts == [1 + min(count, retries) for count in failures]
