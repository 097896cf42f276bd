"""The levels of reasoning of each model, and what a request says of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model import catalogue
from agent.model.catalogue import CATALOGUE, ModelInfo, Prices, Thinking
from agent.model.thinking_levels import BUDGETS, EFFORTS, OFF, levels_of, nearest_level, remark, request_fields
from wire.reasoning_levels import LEVELS

BUDGET_MODEL, MODEL = "claude-haiku-4-5", "claude-opus-5"
ALWAYS = "claude-opus-5-5"
SHORT = {"tiny": 1_500, "small": 4_096, "medium": 9_000, "unable": None}
"""Models of the user's file, by the most tokens of a reply."""
ADAPTIVE = {"thinking": {"type": "adaptive"}}


@pytest.fixture(autouse=True)
def users_models():
    catalogue.use(
        ModelInfo(name, None, most, Thinking.BUDGET if most else Thinking.NONE, Prices())
        for name, most in SHORT.items()
    )
    yield
    catalogue.use(())


@pytest.mark.parametrize(
    ("model", "levels"),
    [
        (BUDGET_MODEL, "off minimum low medium high xhigh"),
        ("qwen3:8b", "off minimum low medium high xhigh"),
        ("anthropic/claude-haiku-4.5", "off minimum low medium high xhigh"),
        (MODEL, "off low medium high xhigh max"),
        ("claude-sonnet-5-5", "off low medium high xhigh max"),
        ("anthropic/claude-sonnet-5.5", "off low medium high xhigh max"),
        ("claude-sonnet-4-6", "off low medium high max"),
        ("bedrock/claude-opus-4.6", "off low medium high max"),
        (ALWAYS, "low medium high xhigh max"),
        ("claude-fable-5-2", "low medium high xhigh max"),
        ("claude-of-tomorrow", "low medium high xhigh max"),
        ("unable", "off"),
        ("tiny", "off"),
        ("small", "off minimum low"),
        ("medium", "off minimum low"),
    ],
)
def test_the_levels_of_a_model(model, levels):
    assert " ".join(levels_of(model)) == levels


def test_there_is_one_table_of_levels_and_zots_budgets_hold():
    assert LEVELS == ("off", "minimum", "low", "medium", "high", "xhigh", "max")
    assert set(BUDGETS) | set(EFFORTS) | {"off"} == set(LEVELS)
    assert BUDGETS == {"minimum": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768}
    assert set(OFF) <= set(CATALOGUE)


@given(st.sampled_from([*CATALOGUE, *SHORT, "qwen3:8b", "claude-of-tomorrow"]), st.sampled_from(LEVELS))
def test_the_nearest_level_is_one_that_the_model_has(model, wanted):
    levels, used = levels_of(model), nearest_level(model, wanted)
    assert used in levels
    assert (used == wanted) == (wanted in levels) == (remark(model, wanted) == "")
    assert nearest_level(model, used) == used
    if wanted != "off" and levels != ("off",):
        assert used != "off"
        assert LEVELS.index(used) <= max(LEVELS.index(wanted), LEVELS.index("low"))


@given(st.sampled_from([*CATALOGUE, *SHORT, "qwen3:8b"]), st.sampled_from(LEVELS), st.integers(1, 60_000))
def test_a_budget_leaves_room_for_the_answer_within_the_limit_of_the_model(model, wanted, max_tokens):
    info = catalogue.find(model)
    most = (info and info.max_output) or 10**6
    fields = request_fields(model, wanted, min(max_tokens, most))
    if (budget := fields.get("thinking", {}).get("budget_tokens")) is not None:
        assert budget == BUDGETS[nearest_level(model, wanted)] >= 1_024
        assert min(max_tokens, most) <= fields["max_tokens"] <= most
        assert fields["max_tokens"] - budget >= min(4_096, most // 2)


@pytest.mark.parametrize(
    ("model", "wanted", "fields"),
    [
        (MODEL, "medium", {**ADAPTIVE, "output_config": {"effort": "medium"}}),
        (MODEL, "minimum", {**ADAPTIVE, "output_config": {"effort": "low"}}),
        (MODEL, "max", {**ADAPTIVE, "output_config": {"effort": "max"}}),
        (MODEL, "off", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", "off", {"thinking": {"type": "between_tools"}}),
        (ALWAYS, "off", {**ADAPTIVE, "output_config": {"effort": "low"}}),
        ("claude-sonnet-4-6", "xhigh", {**ADAPTIVE, "output_config": {"effort": "high"}}),
        ("claude-opus-4-7", "off", {}),
        (BUDGET_MODEL, "off", {}),
        (BUDGET_MODEL, "low", {"thinking": {"type": "enabled", "budget_tokens": 2_048}, "max_tokens": 32_000}),
        (BUDGET_MODEL, "max", {"thinking": {"type": "enabled", "budget_tokens": 32_768}, "max_tokens": 36_864}),
        ("small", "max", {"thinking": {"type": "enabled", "budget_tokens": 2_048}, "max_tokens": 32_000}),
        ("unable", "max", {}),
        ("tiny", "low", {}),
    ],
)
def test_what_a_request_says(model, wanted, fields):
    assert request_fields(model, wanted, 32_000) == fields


@pytest.mark.parametrize(
    ("model", "wanted", "said"),
    [
        ("q", "max", "reasoning max: q has off, minimum, low, medium, high, xhigh; xhigh is used"),
        (MODEL, "minimum", f"reasoning minimum: {MODEL} has off, low, medium, high, xhigh, max; low is used"),
        (ALWAYS, "off", f"reasoning off has no effect: {ALWAYS} always thinks; low is used"),
        ("unable", "low", "reasoning low has no effect: models.json says that unable cannot think"),
        ("tiny", "low", "reasoning low has no effect: the replies of tiny are too short for it, as models.json says"),
        (MODEL, "high", ""),
        ("unable", "off", ""),
    ],
)
def test_what_the_user_is_told_of_a_level_that_the_model_has_not(model, wanted, said):
    assert remark(model, wanted) == said
    assert len(said) <= 160
