from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.retry import is_final
from wire.batch.outcome import RETRYABLE, TaskStatus


@given(st.sampled_from(list(TaskStatus)), st.integers(1, 5), st.integers(0, 4))
def test_is_final(status: TaskStatus, tries: int, retries: int) -> None:
    final = is_final(status, tries, retries)
    if status is TaskStatus.INTERRUPTED:
        assert not final
    elif status in RETRYABLE:
        assert final == (tries > retries)
    else:
        assert final


@pytest.mark.parametrize(
    "status", [TaskStatus.OK, TaskStatus.CHECK_FAILED, TaskStatus.OUT_OF_MEMORY, TaskStatus.TIMEOUT, TaskStatus.BUDGET]
)
def test_what_would_end_in_the_same_way_is_not_retried(status: TaskStatus) -> None:
    assert is_final(status, 1, 9)
