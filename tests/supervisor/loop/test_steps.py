"""Long work leaves room for timers."""

from __future__ import annotations

import pytest

from supervisor.loop import steps
from supervisor.loop.loop import Loop
from supervisor.loop.steps import run_in_steps


def test_timers_run_between_steps():
    now = 0.0
    loop = Loop(lambda: now)
    seen: list[object] = []

    def work():
        nonlocal now
        for number in range(4):
            now += steps.PASS_S / 2
            seen.append(number)
            yield

    loop.call_later(steps.PASS_S, lambda: seen.append("timer"))
    run_in_steps(loop, work())
    loop.close()
    assert seen == [0, 1, "timer", 2, 3]


def test_an_error_of_a_step_is_raised():
    loop = Loop()

    def work():
        yield
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        run_in_steps(loop, work())
    loop.close()
