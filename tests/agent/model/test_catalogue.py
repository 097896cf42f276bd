"""The catalogue of models and what their tokens cost."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.catalogue import CATALOGUE, DEFAULT_MODEL, Thinking, cost_usd, find, least_cached, thinking_of
from tests.support.messages_server import prefix_cache


def test_the_default_is_in_the_catalogue() -> None:
    info = find(DEFAULT_MODEL)
    assert info is not None
    assert info.retires is None


@pytest.mark.parametrize(
    ("alias", "dated"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("claude-haiku-4-5", "claude-haiku-4-5-20251001"),
        ("claude-opus-4-5", "claude-opus-4-5-20251101"),
    ],
)
def test_an_alias_and_its_dated_form_are_the_same_model(alias: str, dated: str) -> None:
    by_alias, by_date = find(alias), find(dated)
    assert by_alias is not None
    assert by_date is not None
    assert (by_alias.prices, by_alias.context_window, by_alias.max_output) == (
        by_date.prices,
        by_date.context_window,
        by_date.max_output,
    )


@pytest.mark.parametrize("model_id", ["", "claude", "claude-sonnet-4", "claude-sonnet-4-5-latest", "llama3"])
def test_only_exact_ids_are_found(model_id: str) -> None:
    assert find(model_id) is None


@pytest.mark.slow
def test_the_sdk_knows_every_model_of_the_catalogue() -> None:
    from typing import get_args

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from anthropic.types import model

    known = set(get_args(get_args(model.Model)[0]))
    assert set(CATALOGUE) <= known


@pytest.mark.parametrize("info", CATALOGUE.values(), ids=lambda info: info.id)
def test_entries_are_plausible(info) -> None:
    tiers = [info.prices] + ([info.long_prompt.prices] if info.long_prompt else [])
    for prices in tiers:
        assert 0 < prices.cache_read < prices.input < prices.cache_write < prices.output
        assert prices.cache_write == pytest.approx(1.25 * prices.input)
    assert info.max_output < info.context_window
    if info.retires:
        date.fromisoformat(info.retires)


def test_cost_of_one_request() -> None:
    usage = {"input": 1_000_000, "output": 100_000, "cache_read": 2_000_000, "cache_write": 400_000}
    assert cost_usd(find("claude-sonnet-4-5"), usage) == pytest.approx(3 + 1.5 + 0.6 + 1.5)


def test_a_write_for_an_hour_costs_twice_the_input() -> None:
    usage = {"input": 1_000, "cache_write": 400, "cache_write_1h": 300}
    assert cost_usd(find("claude-sonnet-4-5"), usage) == pytest.approx((3 * 1_000 + 3.75 * 100 + 6 * 300) / 1e6)
    too_many = {"cache_write": 400, "cache_write_1h": 500}
    assert cost_usd(find("claude-sonnet-4-5"), too_many) == pytest.approx(6 * 400 / 1e6)


def test_the_shortest_prefixes_are_those_of_the_page_on_prompt_caching() -> None:
    for name in CATALOGUE:
        assert least_cached(name) == prefix_cache.least_cached(name)
    assert least_cached("anthropic/claude-opus-4.5") == 4_096
    assert least_cached("claude-opus-99") == 512
    assert least_cached("qwen3:8b") is None


def test_a_long_prompt_has_its_own_price() -> None:
    haiku = find("claude-haiku-5-5")
    short = {"input": 60_000, "cache_read": 30_000, "cache_write": 10_000, "output": 1000}
    assert cost_usd(haiku, short) == pytest.approx((6_000 + 300 + 1_250 + 500) / 1e6)
    assert cost_usd(haiku, {**short, "input": 60_001}) == pytest.approx((30_000.5 + 1_500 + 6_250 + 2_500) / 1e6)


def test_an_unknown_model_has_no_cost() -> None:
    assert cost_usd(None, {"input": 5}) is None


@given(st.sampled_from(list(CATALOGUE.values())), st.integers(0, 10**6), st.integers(0, 10**6))
def test_cost_is_never_negative_and_grows_with_the_answer(info, prompt: int, output: int) -> None:
    less = cost_usd(info, {"input": prompt, "output": output})
    more = cost_usd(info, {"input": prompt, "output": output + 1})
    assert less is not None
    assert more is not None
    assert 0 <= less < more


@pytest.mark.parametrize(
    ("model_id", "style"),
    [
        ("claude-sonnet-4-5", Thinking.BUDGET),
        ("claude-opus-4-8", Thinking.ADAPTIVE),
        ("claude-sonnet-99", Thinking.ADAPTIVE),
        ("qwen3:8b", Thinking.BUDGET),
    ],
)
def test_each_model_has_its_way_to_ask_for_reasoning(model_id: str, style: Thinking) -> None:
    assert thinking_of(model_id) is style


def test_the_prices_are_those_that_others_have_read_from_the_same_lists() -> None:
    """genai-prices keeps prices by date; the version of the development dependency fixes what is compared."""
    from genai_prices import Usage, calc_price

    at = datetime(2026, 11, 15, tzinfo=UTC)
    compared = 0
    for info in CATALOGUE.values():
        for prompt in (1_000, info.context_window - 1_000):
            ours = {"input": prompt - 300, "output": 70, "cache_read": 200, "cache_write": 100}
            theirs = Usage(input_tokens=prompt, output_tokens=70, cache_read_tokens=200, cache_write_tokens=100)
            try:
                price = calc_price(theirs, info.id, provider_id="anthropic", genai_request_timestamp=at)
            except LookupError:
                continue
            compared += 1
            assert cost_usd(info, ours) == pytest.approx(float(price.total_price), rel=1e-9), info.id
    assert compared >= 20
