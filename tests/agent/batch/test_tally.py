"""The results of a batch in numbers."""

from __future__ import annotations

import pytest

from agent.batch.tally import ETA_AFTER, RATE_S, Tally, exit_code
from wire.batch.outcome import TaskStatus


def test_tokens_per_minute_are_those_of_the_last_minute() -> None:
    tally = Tally(0.0)
    assert tally.tokens_per_minute() == 0
    for second in range(200):
        tally.note_tokens(float(second), 0 if second < 100 else (second - 99) * 50)
    assert tally.tokens_per_minute() == pytest.approx(50 * RATE_S)


def test_the_rest_is_estimated_once_some_tasks_have_ended() -> None:
    tally = Tally(10.0)
    assert tally.eta_s(20.0, 5) is None
    for number in range(ETA_AFTER):
        tally.task_ended(str(number), TaskStatus.OK)
    assert tally.eta_s(40.0, 6) == pytest.approx(60.0)
    assert tally.eta_s(40.0, 0) == 0.0


@pytest.mark.parametrize(
    ("reason", "is_signalled", "is_all_ok", "code"),
    [
        ("done", False, True, 0), ("done", False, False, 10), ("done", True, True, 0), ("drained", True, True, 130),
        ("drained", False, False, 10), ("stopped", False, False, 130), ("budget", False, False, 10),
        ("failed", False, True, 1), ("failed", True, False, 1),
    ],
)  # fmt: skip
def test_exit_codes(reason: str, *, is_signalled: bool, is_all_ok: bool, code: int) -> None:
    assert exit_code(reason, is_signalled=is_signalled, is_all_ok=is_all_ok) == code  # type: ignore[arg-type]
