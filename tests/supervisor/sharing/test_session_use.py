"""The parts of all runs together are the time in which the extension was busy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.sharing.session_use import Uses

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["began", "ended", "left", "told"]),
        st.integers(0, 3),
        st.integers(0, 50).map(lambda tenths: tenths / 10),
    ),
    max_size=60,
)


@given(STEPS, st.floats(0, 100))
def test_the_parts_add_up_to_the_busy_time(steps: list[tuple[str, int, float]], cpu_s: float) -> None:
    now = 0.0
    uses = Uses(lambda: now)
    each = [uses.new() for _ in range(4)]
    under_way = [0] * 4
    busy_s = 0.0
    for what, number, passed in steps:
        now += passed
        busy_s += passed if any(under_way) else 0.0
        if what == "told":
            assert uses.told(each[number], 1.0).cpu_s <= 1.0
            continue
        getattr(uses, what)(each[number])
        if what == "left":
            under_way[number] = 0
        else:
            under_way[number] = max(0, under_way[number] + (1 if what == "began" else -1))
    told = [uses.told(use, cpu_s) for use in each]
    assert uses.busy_s == pytest.approx(busy_s)
    assert sum(use.busy_s for use in told) == pytest.approx(busy_s, abs=1e-5)
    if uses.busy_s:
        assert sum(use.cpu_s for use in told) == pytest.approx(cpu_s, abs=1e-4)
    else:
        assert [use.cpu_s for use in told] == [0.0] * 4


def test_two_at_once_share_a_second_and_one_alone_has_it() -> None:
    now = 0.0
    uses = Uses(lambda: now)
    one, two = uses.new(), uses.new()
    uses.began(one)
    now = 1.0
    uses.began(two)
    uses.began(two)  # more requests do not make a part larger
    now = 3.0
    uses.ended(one)
    now = 4.0
    assert (uses.told(one, 8.0).busy_s, uses.told(two, 8.0).busy_s) == (2.0, 2.0)
    assert (uses.told(one, 8.0).cpu_s, uses.told(two, 8.0).cpu_s) == (4.0, 4.0)
