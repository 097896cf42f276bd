"""Requests of unknown cost, by the rule of `--reserve`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.batch.budget import lost_request
from agent.batch.journal.glance import OutcomeGlance
from agent.batch.reserve import KNOWN, RULES, TIMES, Reserve, reserve_usd, rule_in
from tests.support.batch_journal import outcome
from wire.batch.outcome import Lost, TaskStatus, Usage

MODEL = "claude-sonnet-4-5"
LOST = st.builds(
    lost_request, st.just(MODEL), st.integers(0, 200_000), st.integers(1, 64_000), st.integers(0, 64_000)
).map(lambda one: replace(one, received=min(one.received, one.max_tokens)))


def glance(lost: Lost | None = None, answers: tuple[int, ...] = ()) -> OutcomeGlance:
    return OutcomeGlance(
        TaskStatus.OK, cost_usd=0.1 if lost is None else None, lost=lost,
        answers=len(answers), largest_answer=max(answers, default=0),
    )  # fmt: skip


OUTCOMES = st.lists(
    st.builds(glance, st.none() | LOST, st.lists(st.integers(0, 9_000), max_size=6).map(tuple)), max_size=30
)


def reserve_of(outcomes: list[OutcomeGlance]) -> Reserve:
    made = Reserve()
    for one in outcomes:
        made.add(one)
    return made


@given(LOST, st.none() | st.integers(0, 70_000))
def test_a_lost_request_counts_its_input_and_what_has_arrived_and_at_most_its_max_tokens(
    lost: Lost, cap: int | None
) -> None:
    counted = reserve_usd(lost, cap)
    arrived = lost.input_usd + lost.output_usd * lost.received / lost.max_tokens
    assert arrived - 1e-9 <= counted <= lost.at_most_usd + 1e-9
    if cap is not None and cap >= lost.received:
        assert counted <= lost.input_usd + cap * 15 / 1e6 + 1e-6


def test_input_that_may_be_cached_for_an_hour_counts_twice() -> None:
    assert lost_request(MODEL, 1_000_000, 0).input_usd == pytest.approx(3.75)
    assert lost_request(MODEL, 1_000_000, 0, is_for_an_hour=True).input_usd == pytest.approx(6)
    told = Usage(input=1_000, cache_write=1_000_000)
    assert lost_request(MODEL, told, 0, is_for_an_hour=True).input_usd == pytest.approx(6.003)


@given(OUTCOMES)
def test_each_rule_counts_at_least_as_much_as_the_one_before(outcomes: list[OutcomeGlance]) -> None:
    none, seen, worst = (reserve_of(outcomes).usd(rule) for rule in RULES)
    assert none == 0.0
    assert 0.0 <= seen <= worst + 1e-6
    assert worst == pytest.approx(sum(one.lost.at_most_usd for one in outcomes if one.lost), abs=1e-5)
    answers = sum(one.answers for one in outcomes)
    cap = TIMES * max((one.largest_answer for one in outcomes), default=0) if answers >= KNOWN else None
    assert seen == pytest.approx(sum(reserve_usd(one.lost, cap) for one in outcomes if one.lost), abs=1e-5)


@given(OUTCOMES, st.data())
def test_a_reserve_is_the_same_whenever_it_was_asked_for_before(
    outcomes: list[OutcomeGlance], data: st.DataObject
) -> None:
    """As it is while a batch runs, and when the next start reads the journal."""
    asked, read = Reserve(), reserve_of(outcomes)
    for one in outcomes:
        asked.add(one)
        asked.usd(data.draw(st.sampled_from(RULES)))
    for rule in RULES:
        assert asked.usd(rule) == pytest.approx(read.usd(rule), abs=1e-6)


def test_the_largest_answer_counts_once_ten_are_known() -> None:
    lost = lost_request(MODEL, Usage(1000), 32_000)
    assert lost.at_most_usd == pytest.approx((1000 * 3 + 32_000 * 15) / 1e6)
    few = [glance(lost), glance(answers=(100,) * (KNOWN - 1))]
    assert reserve_of(few).usd("seen") == lost.at_most_usd
    assert reserve_of([*few, glance(answers=(200,))]).usd("seen") == pytest.approx((1000 * 3 + 600 * 15) / 1e6)
    assert reserve_of([*few, glance(answers=(200,))]).usd("worst") == lost.at_most_usd


def test_a_journal_of_an_earlier_version_counts_as_it_was_written() -> None:
    earlier = outcome("a", cost_usd=None, reserved_usd=1.28)
    reserve = reserve_of([glance(answers=(1,) * KNOWN)])
    reserve.add(earlier)
    assert [reserve.usd(rule) for rule in RULES] == [0.0, 1.28, 1.28]


def test_input_of_estimated_size_counts_as_written_to_the_cache_and_without_a_price_nothing_can_be_said() -> None:
    assert lost_request(MODEL, 1_000_000, 0).input_usd == 3.75
    assert lost_request(MODEL, Usage(cache_read=1_000_000), 0).input_usd == 0.3
    assert lost_request("no such model", 100, 100) == Lost(1, 0.0, 0.0, 100, 0)


@pytest.mark.parametrize("settings", [{}, {"flags": 5}, {"flags": {"reserve": "all"}}, {"flags": {"reserve": []}}])
def test_settings_without_a_rule_have_the_default(settings: dict[str, object]) -> None:
    assert rule_in(settings) == "seen"
    assert rule_in({"flags": {"reserve": "worst"}}) == "worst"
