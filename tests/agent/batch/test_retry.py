from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.schedule import BY_CAUSE, LONGEST_WAIT_S, is_final, may_pass, wait_s
from wire.batch.outcome import TaskStatus

STATUSES = st.sampled_from(list(TaskStatus))


@given(STATUSES, st.integers(1, 5), st.integers(0, 4), st.booleans())
def test_is_final(status: TaskStatus, tries: int, retries: int, passing: bool) -> None:
    final = is_final(status, tries, retries, may_pass=passing)
    if status is TaskStatus.INTERRUPTED:
        assert not final
    elif passing:
        assert final == (tries > retries)
    else:
        assert final


@given(STATUSES, st.booleans())
def test_only_a_crash_and_what_the_run_says_of_an_error_may_pass(status: TaskStatus, said: bool) -> None:
    assert may_pass(status, said) == (status is TaskStatus.CRASHED or (said and status in BY_CAUSE))


@pytest.mark.parametrize(
    "status", [TaskStatus.OK, TaskStatus.CHECK_FAILED, TaskStatus.OUT_OF_MEMORY, TaskStatus.TIMEOUT, TaskStatus.BUDGET]
)
def test_what_would_end_in_the_same_way_may_not_pass(status: TaskStatus) -> None:
    assert not may_pass(status, said=True)


@given(st.integers(1, 99), st.floats(0, 1))
def test_a_task_waits_longer_after_each_failed_request_and_not_after_a_crash(failed: int, chance: float) -> None:
    assert wait_s("", failed, chance) == 0
    assert 1.5 <= wait_s("overloaded", failed, chance) <= LONGEST_WAIT_S
    assert wait_s("overloaded", failed, chance) <= wait_s("overloaded", failed + 1, chance)
    assert [wait_s("server", number, 0) for number in (1, 2, 3)] == [2, 4, 8]
