"""Whether and when a worker is restarted follows from its policy, for every history. Without processes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from supervisor.extension.restart import (
    HEALTHY_AFTER_S,
    JITTER,
    NEVER_AGAIN,
    Decision,
    EndCause,
    GiveUp,
    PastExits,
    RestartIn,
    StayDown,
    WorkerEnding,
    backoff,
    decide,
)
from wire.manifest import Restart

CRASH = WorkerEnding(EndCause.EXIT, 1, 1.0, was_ready=True)
EARLY = WorkerEnding(EndCause.EXIT, 1, 1.0, was_ready=False)
HOPELESS = (EndCause.UNSTARTABLE, EndCause.DISAGREES)
POLICIES = st.builds(
    lambda policy, most, window_s, first, more, codes: Restart(policy, most, window_s, (first, first + more), codes),
    st.sampled_from(["transient", "permanent", "temporary"]),
    st.integers(1, 20),
    st.floats(0.1, 600),
    st.floats(0.001, 10),
    st.floats(0, 60),
    st.lists(st.integers(0, 255), max_size=3).map(tuple),
)
ENDINGS = st.builds(
    WorkerEnding,
    st.sampled_from(EndCause),
    st.none() | st.integers(-64, 255),
    st.floats(0, 2 * HEALTHY_AFTER_S),
    was_ready=st.booleans(),
)
STEPS = st.lists(st.tuples(ENDINGS, st.floats(0, 100), st.floats(0, 1)), max_size=20)


def play(
    policy: Restart, steps: list[tuple[WorkerEnding, float, float]], **how: bool
) -> list[tuple[Decision, PastExits]]:
    """One decision after another, `seconds` apart."""
    history, now, made = PastExits(), 0.0, []
    for ending, seconds, dice in steps:
        now += seconds
        decision, history = decide(policy, history, ending, now=now, dice=dice, **how)
        made.append((decision, history))
    return made


def crashes(policy: Restart, gaps: list[float], ending: WorkerEnding = CRASH) -> list[Decision]:
    return [decision for decision, _ in play(policy, [(ending, gap, 0.5) for gap in gaps])]


# --- whatever happens -------------------------------------------------------------------------------------------


@given(POLICIES, STEPS, st.booleans())
def test_each_wait_lies_within_the_backoff_and_its_jitter(
    policy: Restart, steps: list[tuple[WorkerEnding, float, float]], stop_on_limit: bool
):
    first, longest = policy.backoff_s
    for decision, _ in play(policy, steps, stop_on_limit=stop_on_limit):
        if isinstance(decision, RestartIn):
            assert first * (1 - JITTER) <= decision.delay_s <= longest * (1 + JITTER)


@given(POLICIES, STEPS)
def test_no_window_sees_more_restarts_than_are_allowed(policy: Restart, steps: list[tuple[WorkerEnding, float, float]]):
    now, again = 0.0, []
    for (ending, seconds, _), (decision, _) in zip(steps, play(policy, steps), strict=True):
        now += seconds
        if ending.was_ready and ending.uptime_s >= HEALTHY_AFTER_S:
            again = []  # all is forgiven
        if isinstance(decision, RestartIn):
            again.append(now)
        assert len([at for at in again if now - at < policy.window_s]) < policy.max


@given(POLICIES, STEPS)
def test_a_worker_is_given_up_only_after_too_many_exits(
    policy: Restart, steps: list[tuple[WorkerEnding, float, float]]
):
    for decision, _ in play(policy, steps):
        if isinstance(decision, GiveUp):
            assert decision.exits >= policy.max
            assert decision.span_s >= 0


@given(POLICIES, STEPS)
def test_the_history_of_exits_is_bounded(policy: Restart, steps: list[tuple[WorkerEnding, float, float]]):
    for decision, history in play(policy, steps):
        if isinstance(decision, GiveUp | StayDown):
            break  # only a user starts it again
        assert len(history.exits) < policy.max
        assert len(history.unready) < policy.max
        assert list(history.exits) == sorted(history.exits)


@given(POLICIES, ENDINGS, st.booleans())
def test_a_worker_that_would_fail_again_stays_down(policy: Restart, ending: WorkerEnding, stop_on_limit: bool):
    for cause in HOPELESS:
        decision, _ = decide(
            policy, PastExits(), replace(ending, cause=cause), now=0.0, dice=0.5, stop_on_limit=stop_on_limit
        )
        assert decision == StayDown("it would fail again")


@given(POLICIES, STEPS, ENDINGS)
def test_a_healthy_life_makes_up_for_all_before(
    policy: Restart, steps: list[tuple[WorkerEnding, float, float]], ending: WorkerEnding
):
    healthy = replace(ending, uptime_s=HEALTHY_AFTER_S, was_ready=True)
    assume_retried = replace(healthy, cause=EndCause.STALLED)
    *_, (decision, history) = play(policy, [*steps, (assume_retried, 0.0, 0.5)])
    assert (history.row, len(history.exits), history.unready) == (1, 1, ())
    if policy.policy != "temporary" and policy.max > 1:
        assert decision == RestartIn(policy.backoff_s[0])


# --- which exits are followed by a start ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "code", "is_again"),
    [
        ("transient", 0, False),
        ("transient", 1, True),
        ("transient", -9, True),
        ("transient", NEVER_AGAIN, False),
        ("transient", 78, False),
        ("permanent", 0, True),
        ("permanent", 1, True),
        ("permanent", -15, True),
        ("permanent", NEVER_AGAIN, False),
        ("permanent", 78, False),
        ("temporary", 0, False),
        ("temporary", 1, False),
        ("temporary", -9, False),
    ],
)
def test_the_policy_and_the_exit_decide_on_a_restart(policy: str, code: int, is_again: bool):
    decision, _ = decide(
        Restart(policy, no_restart_exit=(78,)), PastExits(), replace(CRASH, code=code), now=0.0, dice=0.5
    )
    assert isinstance(decision, RestartIn if is_again else StayDown), decision


@pytest.mark.parametrize(
    ("ending", "policy", "why"),
    [
        (replace(CRASH, code=125), Restart(), "exit 125 asks for that"),
        (replace(CRASH, code=78), Restart("permanent", no_restart_exit=(78, 0)), "exit 78 asks for that"),
        (replace(CRASH, code=0), Restart("permanent", no_restart_exit=(78, 0)), "exit 0 asks for that"),
        (replace(CRASH, code=0), Restart(), "it ended without an error"),
        (CRASH, Restart("temporary"), "its restart policy is temporary"),
        (replace(CRASH, cause=EndCause.STALLED), Restart("temporary"), "its restart policy is temporary"),
        (replace(CRASH, cause=EndCause.UNSTARTABLE), Restart("permanent"), "it would fail again"),
    ],
)
def test_the_reason_to_stay_down_is_named(ending: WorkerEnding, policy: Restart, why: str):
    decision, _ = decide(policy, PastExits(), ending, now=0.0, dice=0.5)
    assert decision == StayDown(why)


@pytest.mark.parametrize("cause", [EndCause.REFUSED, EndCause.STALLED, EndCause.OVER_LIMIT])
@pytest.mark.parametrize("policy", ["transient", "permanent"])
def test_a_worker_that_the_host_has_ended_is_started_again(cause: EndCause, policy: str):
    for code in (None, 0, NEVER_AGAIN):
        decision, _ = decide(Restart(policy), PastExits(), WorkerEnding(cause, code, 1.0, True), now=0.0, dice=0.5)
        assert isinstance(decision, RestartIn)


@pytest.mark.parametrize("policy", ["transient", "permanent", "temporary"])
def test_limits_that_say_stop_are_obeyed(policy: str):
    over = replace(CRASH, cause=EndCause.OVER_LIMIT)
    decision, _ = decide(Restart(policy), PastExits(), over, now=0.0, dice=0.5, stop_on_limit=True)
    assert decision == StayDown("its limits say stop")
    decision, _ = decide(Restart("permanent"), PastExits(), CRASH, now=0.0, dice=0.5, stop_on_limit=True)
    assert isinstance(decision, RestartIn), "it says nothing about other ends"


# --- how often, and how soon ------------------------------------------------------------------------------------


def test_a_worker_is_given_up_with_the_last_allowed_exit():
    *before, last = crashes(Restart(max=5, window_s=60.0), [10.0] * 5)
    assert all(isinstance(decision, RestartIn) for decision in before)
    assert last == GiveUp(5, 40.0)


def test_exits_that_are_far_apart_are_forgotten():
    assert all(isinstance(decision, RestartIn) for decision in crashes(Restart(max=5, window_s=60.0), [15.0] * 50))


def test_an_exit_as_old_as_the_window_counts_no_more():
    assert isinstance(crashes(Restart(max=2, window_s=60.0), [0.0, 60.0])[-1], RestartIn)
    assert isinstance(crashes(Restart(max=2, window_s=60.0), [0.0, 59.9])[-1], GiveUp)


def test_a_maximum_of_one_gives_up_at_the_first_exit():
    assert crashes(Restart(max=1), [0.0]) == [GiveUp(1, 0.0)]


def test_failed_starts_in_a_row_count_however_far_apart():
    *before, last = crashes(Restart(max=5, window_s=60.0), [100.0] * 5, EARLY)
    assert all(isinstance(decision, RestartIn) for decision in before)
    assert last == GiveUp(5, 400.0)


def test_a_start_that_got_ready_ends_the_row_of_failed_starts():
    steps = [(EARLY, 100.0, 0.5)] * 4 + [(CRASH, 100.0, 0.5)] + [(EARLY, 100.0, 0.5)] * 4
    assert all(isinstance(decision, RestartIn) for decision, _ in play(Restart(max=5, window_s=60.0), steps))


def test_a_long_start_is_no_healthy_life():
    slow = replace(EARLY, uptime_s=2 * HEALTHY_AFTER_S)
    assert isinstance(crashes(Restart(max=3, window_s=60.0), [1000.0] * 3, slow)[-1], GiveUp)


def test_almost_healthy_is_not_healthy():
    almost = replace(CRASH, uptime_s=HEALTHY_AFTER_S - 0.1)
    waits = crashes(Restart(backoff_s=(1.0, 100.0)), [300.0] * 5, almost)
    assert waits == [RestartIn(1.0), RestartIn(2.0), RestartIn(4.0), RestartIn(8.0), RestartIn(16.0)]
    healthy = replace(CRASH, uptime_s=HEALTHY_AFTER_S)
    assert crashes(Restart(backoff_s=(1.0, 100.0)), [300.0] * 5, healthy) == [RestartIn(1.0)] * 5


def test_waits_double_up_to_the_longest():
    policy = Restart(max=1000, backoff_s=(0.5, 30.0))
    waits = [backoff(policy, row, 0.5) for row in range(1, 9)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert backoff(policy, 10**6, 0.5) == 30.0


def test_a_longest_wait_below_the_first_is_the_longest():
    assert backoff(Restart(backoff_s=(5.0, 1.0)), 1, 0.5) == 1.0


@given(st.integers(1, 2000), st.floats(0, 1), st.floats(0, 1))
def test_jitter_spreads_workers_that_crashed_together(row: int, jitter: float, other: float):
    policy = Restart(backoff_s=(0.5, 30.0))
    middle = backoff(policy, row, 0.5)
    assert backoff(policy, row, 0.0) == pytest.approx(0.75 * middle)
    assert backoff(policy, row, 1.0) == pytest.approx(1.25 * middle)
    if jitter < other:
        assert backoff(policy, row, jitter) <= backoff(policy, row, other)


@given(POLICIES, st.integers(1, 100), st.floats(0, 1))
def test_waits_never_get_shorter_with_more_exits(policy: Restart, row: int, dice: float):
    assert backoff(policy, row, dice) <= backoff(policy, row + 1, dice)
