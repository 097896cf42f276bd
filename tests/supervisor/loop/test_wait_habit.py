"""A wait takes the way that is quicker for its worker, and notices when that changes."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from supervisor.loop.wait_habit import EXPLORED_EVERY, MEASURED_EVERY, WaitHabit, Way

DURATIONS = st.floats(1e-6, 1e-2)
DICE = st.integers().map(random.Random)


def wait(habit: WaitHabit, spin_s: float, sleep_s: float, dice: random.Random, times: int = 1) -> int:
    """Makes waits that take as long as given, 5 % more or less; one in 20 takes ten times as long. Returns how many
    slept."""
    slept = 0
    for _ in range(times):
        habit.left -= 1
        is_measured = not habit.left
        sleeps = habit.begin_measured() if is_measured else habit.sleeps
        slept += sleeps
        if is_measured:
            habit.took((sleep_s if sleeps else spin_s) * dice.uniform(0.95, 1.05) * dice.choice([*[1] * 19, 10]))
    return slept


@given(DURATIONS, st.floats(1.3, 50), st.booleans(), DICE)
def test_the_quicker_way_is_learned(quicker: float, ratio: float, sleeping_is_quicker: bool, dice: random.Random):
    habit = WaitHabit()
    spin_s, sleep_s = (quicker * ratio, quicker) if sleeping_is_quicker else (quicker, quicker * ratio)
    wait(habit, spin_s, sleep_s, dice, 4000)
    slept = wait(habit, spin_s, sleep_s, dice, 640)
    assert (slept > 320) is sleeping_is_quicker


@given(DURATIONS, DICE)
def test_a_change_is_noticed(quicker: float, dice: random.Random):
    habit = WaitHabit()
    wait(habit, quicker, quicker * 3, dice, 4000)
    wait(habit, quicker * 3, quicker, dice, 6000)
    assert wait(habit, quicker * 3, quicker, dice, 640) > 320


@given(DICE)
def test_one_wait_in_64_explores_the_slower_way(dice: random.Random):
    habit = WaitHabit()
    wait(habit, 1e-5, 5e-5, dice, 4000)
    assert wait(habit, 1e-5, 5e-5, dice, 64 * MEASURED_EVERY) == 64 // EXPLORED_EVERY


@given(st.lists(DURATIONS, min_size=200, max_size=400))
def test_a_median_lies_between_the_extremes(durations: list[float]):
    way = Way()
    for seconds in durations:
        way.add(seconds)
    assert min(durations) * (1 - 1 / 2) <= way.median_s <= max(durations) * (1 + 1 / 2)
