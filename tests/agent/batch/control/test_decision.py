"""A request changes the batch once and no more than it says; all else is answered or refused with the reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.batch.control.decision import Asked, Decision, Place, RefusedError, Standing, decide
from wire.batch import control

DOLLARS = st.floats(0, 1e6, allow_nan=False).map(lambda usd: round(usd, 2))
ASKED = st.one_of(
    st.builds(control.SetJobs, st.just("1"), st.integers(1, 50)),
    st.builds(control.SetBudget, st.just("1"), DOLLARS),
    st.builds(control.Pause, st.just("1"), st.booleans()),
    st.builds(control.Resume, st.just("1")),
    st.builds(control.Stop, st.just("1")),
    st.builds(control.Requeue, st.just("1"), st.just("a"), st.booleans()),
)
STANDINGS = st.builds(
    Standing,
    jobs=st.integers(1, 40),
    max_cost_usd=st.none() | DOLLARS,
    at_most_usd=DOLLARS,
    running=st.integers(0, 40),
    is_paused=st.booleans(),
    is_draining=st.booleans(),
    is_stopping=st.booleans(),
    place=st.sampled_from(Place),
    is_batch_api=st.booleans(),
    most_jobs=st.integers(1, 50),
)


def after(now: Standing, decision: Decision) -> Standing:
    """The batch once the decision is carried out, and runs that were aborted have ended."""
    if decision.now:
        now = replace(now, running=0)
    if decision.what == "jobs":
        assert decision.value is not None
        return replace(now, jobs=int(decision.value))
    if decision.what == "budget":
        return replace(now, max_cost_usd=decision.value)
    if decision.what == "requeue":
        return replace(now, place=Place.WAITING)
    if decision.what == "stop":
        return replace(now, is_draining=True, is_stopping=True)
    return replace(now, is_paused=decision.what == "pause")


@given(ASKED, STANDINGS)
def test_the_same_request_once_more_has_nothing_to_do(asked: Asked, now: Standing) -> None:
    try:
        decision = decide(asked, now)
    except RefusedError:
        assert now.is_stopping or now.is_batch_api or isinstance(asked, control.Requeue)
        return
    assert decision.words
    if not decision.is_changed:
        assert decision.words.startswith("nothing to do")
        assert (decision.value, decision.before, decision.now) == (None, None, False)
        return
    assert after(now, decision) != now
    again = after(now, decision)
    if not again.is_stopping:
        assert not decide(asked, again).is_changed


@given(ASKED, STANDINGS)
def test_requests_that_are_with_the_provider_are_never_aborted(asked: Asked, now: Standing) -> None:
    try:
        decision = decide(asked, replace(now, is_batch_api=True))
    except RefusedError:
        return
    assert not decision.now


@given(ASKED, STANDINGS)
def test_a_decision_keeps_the_bounds(asked: Asked, now: Standing) -> None:
    try:
        decision = decide(asked, now)
    except RefusedError:
        return
    if decision.what == "jobs" and decision.is_changed:
        assert decision.value is not None
        assert 1 <= decision.value <= min(now.most_jobs, asked.jobs)  # type: ignore[union-attr]
        assert decision.before == now.jobs
    if decision.now:
        assert now.running or now.place is Place.RUNNING, "only what runs is aborted"
    if now.is_stopping:
        assert not decision.is_changed


BATCH = Standing(
    jobs=4, max_cost_usd=10.0, at_most_usd=6.5, running=4, is_paused=False, is_draining=False, is_stopping=False
)


@pytest.mark.parametrize(
    ("asked", "given", "words"),
    [
        (control.SetJobs("1", 2), {}, "jobs 4 → 2: of 4 runs, 2 end before the next one starts"),
        (control.SetJobs("1", 900), {"most_jobs": 60}, "jobs 4 → 60 (900 need more open files than this process may"),
        (control.SetBudget("1", 5), {}, "budget $10.00 → $5.00: $6.50 is used or reserved, so nothing more starts"),
        (control.SetBudget("1", 50), {"is_draining": True}, "budget $10.00 → $50.00. The batch drains: no new tasks"),
        (control.Pause("1", True), {"running": 1}, "paused: 1 run aborted; their tasks start again after resume"),
        (control.Requeue("1", "a"), {"place": Place.DONE, "is_draining": True}, "The batch drains: the next start"),
    ],
)
def test_the_words_say_what_follows(asked: Asked, given: dict[str, object], words: str) -> None:
    assert words in decide(asked, replace(BATCH, **given)).words
