"""Marks of a run in lanes, and the life of an extension."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.report.input.recorded_run import Happening
from cli.report.run.timeline import (
    COMMON_MARKS,
    FOLDED_MARKS,
    PROMINENT,
    PROMINENT_MARKS,
    ROWS,
    LaneKind,
    Life,
    coarsen,
    lanes_of,
    lives_of,
)

END = 100.0
KINDS = ["turn", "tool_call", "intercept", "started", "exited", "restarted", "failed", "limit", "no_verdict", "warning"]


def happening(begin, kind, extension="", *, lasts=None, bad=False, name=""):
    return Happening(begin, None if lasts is None else begin + lasts, kind, name, extension, "", bad)


HAPPENINGS = st.lists(
    st.builds(
        happening,
        st.floats(0, END),
        st.sampled_from(KINDS),
        st.sampled_from(["", "a", "b"]),
        lasts=st.none() | st.floats(0, 30),
        bad=st.booleans(),
    ),
    max_size=60,
).map(lambda held: sorted(held, key=lambda item: item.begin))


@given(HAPPENINGS)
def test_nothing_is_lost_and_lanes_are_in_order(happenings):
    lanes = lanes_of(happenings, END)
    order = [list(LaneKind).index(lane.kind) for lane in lanes]
    assert order == sorted(order)
    assert all(lane.total == sum(mark.count for mark in lane.marks) for lane in lanes)
    assert sum(lane.total for lane in lanes) >= len(happenings)
    assert all(0 <= mark.row < lane.rows <= ROWS for lane in lanes for mark in lane.marks)


def test_failed_calls_and_blocks_are_in_the_lane_of_their_extension_too():
    lanes = lanes_of(
        [
            happening(1, "turn", name="1"),
            happening(2, "tool_call", "a", lasts=1),
            happening(3, "tool_call", "b", lasts=1, bad=True),
            happening(4, "intercept", "c", lasts=1, bad=True),
            happening(5, "warning"),
        ],
        END,
    )
    assert [(lane.kind, lane.name, lane.total) for lane in lanes] == [
        (LaneKind.TURNS, "", 1),
        (LaneKind.TOOLS, "", 2),
        (LaneKind.GUARDS, "", 1),
        (LaneKind.RUN, "", 1),
        (LaneKind.EXTENSION, "b", 1),
        (LaneKind.EXTENSION, "c", 1),
    ]


def test_the_most_troubled_extension_comes_first():
    quiet = [happening(at, "started", "quiet") for at in range(5)]
    lanes = lanes_of([*quiet, happening(6, "exited", "ill"), happening(7, "failed", "lost")], END)
    assert [lane.name for lane in lanes] == ["lost", "ill", "quiet"]


def test_calls_that_overlap_are_below_each_other():
    (lane,) = lanes_of([happening(0, "tool_call", lasts=10), happening(1, "tool_call", lasts=1)], END)
    assert [mark.row for mark in lane.marks] == [0, 1]
    (lane,) = lanes_of([happening(0, "tool_call", lasts=1), happening(1, "tool_call", lasts=1)], END)
    assert lane.rows == 1


def test_many_marks_become_few_with_counts():
    calls = [happening(at / 1000, "tool_call", lasts=0.0001 * at, bad=at % 100 == 0) for at in range(100_000)]
    crashes = [happening(at / 50, "exited", f"extension-{at % 300}") for at in range(5000)]
    lanes = lanes_of(sorted([*calls, *crashes], key=lambda item: item.begin), END)
    tools = lanes[0]
    assert len(tools.marks) <= COMMON_MARKS
    assert sum(mark.count for mark in tools.marks) == 100_000
    assert sum(mark.bad for mark in tools.marks) == 1000
    assert not any(0 < mark.bad < mark.count for mark in tools.marks)  # failed and other calls are counted apart
    own = [lane for lane in lanes if lane.kind is LaneKind.EXTENSION]
    assert len(own) == 300
    assert sum(len(lane.marks) for lane in own[:PROMINENT]) <= PROMINENT_MARKS
    assert sum(len(lane.marks) for lane in own[PROMINENT:]) <= FOLDED_MARKS


def test_a_life_is_what_the_marks_say():
    held = [happening(at, kind, "a") for at, kind in [(1, "started"), (5, "exited"), (8, "restarted"), (20, "failed")]]
    assert lives_of(held, END) == (
        (1, 5, Life.UP),
        (5, 8, Life.DOWN),
        (8, 20, Life.UP),
        (20, 100, Life.FAILED),
    )


def test_an_extension_that_first_exits_ran_before():
    assert lives_of([happening(5, "exited", "a")], END) == ((0, 5, Life.UP), (5, 100, Life.DOWN))
    assert lives_of([happening(5, "warning", "a")], END) == ()


@given(
    st.lists(st.tuples(st.floats(0, END), st.sampled_from(["started", "exited", "failed"])), max_size=80).map(sorted)
)
def test_a_coarser_life_is_as_long_and_never_better(changes):
    lives = lives_of([happening(at, kind, "a") for at, kind in changes], END)
    short = coarsen(lives, END, 10)
    assert len(short) <= max(10, 0)
    assert {state for *_, state in lives} == set() or short
    assert sum(to - begin for begin, to, state in short if state is Life.FAILED) >= 0.999 * sum(
        to - begin for begin, to, state in lives if state is Life.FAILED
    )
