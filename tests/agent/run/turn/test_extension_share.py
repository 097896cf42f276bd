"""The tokens and dollars that extensions have caused: never more than the request's, and nothing without a price."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.catalogue import CATALOGUE, ModelInfo, Prices, Thinking, cost_usd, find
from agent.model.request import ToolSpec, build_params
from agent.run.turn.extension_share import shares_of
from agent.transcript import Image, Message, Text, ToolCall, ToolResult

OWNERS = {"a_1": "a", "a_2": "a", "b_1": "b"}


def owner_of(tool: str) -> str:
    return OWNERS.get(tool, "")


def params_of(*calls: tuple[str, str], tools: tuple[str, ...] = ("a_1", "read", "b_1"), **more: Any) -> dict[str, Any]:
    """A conversation in which each tool was called, with its result."""
    messages = [Message("user", (Text("go"),), "")]
    for number, (tool, text) in enumerate(calls):
        content = (Text(text), Image("image/png", "aGk=")) if text == "image" else (Text(text),)
        messages.append(Message("assistant", (ToolCall(f"t{number}", tool, b"{}"),), ""))
        messages.append(Message("tool", (ToolResult(f"t{number}", content),), ""))
    specs = [ToolSpec(name, "what it does", {"type": "object"}) for name in tools]
    return build_params(
        model="m", system="be brief", messages=messages, tools=specs, max_tokens=9, reasoning=None, **more
    )


def test_a_definition_costs_the_price_of_its_place() -> None:
    info = find("claude-sonnet-4-5")
    params = params_of()
    cached = shares_of(params, {"cache_read": 1_000_000}, info, owner_of)["a"]
    plain = shares_of(params, {"input": 1_000_000}, info, owner_of)["a"]
    assert cached.tokens == plain.tokens
    assert cached.usd == pytest.approx(cached.tokens * 0.3 / 1e6)
    assert plain.usd == pytest.approx(plain.tokens * 3 / 1e6)


def test_results_stay_for_all_later_turns() -> None:
    info, usage = find("claude-sonnet-4-5"), {"input": 10_000}
    without = shares_of(params_of(("a_1", "x")), usage, info, owner_of)
    long = shares_of(params_of(("a_1", "x" * 5_000), ("read", "y")), usage, info, owner_of)
    assert long["a"].tokens > 4 * without["a"].tokens
    assert long["b"].tokens < without["b"].tokens


def test_an_extension_that_has_gone_still_pays_for_its_results() -> None:
    found = shares_of(params_of(("a_2", "x"), tools=("read",)), {"input": 100}, find("claude-sonnet-4-5"), owner_of)
    assert list(found) == ["a"]


def test_nothing_without_extensions_without_a_price_and_without_counts() -> None:
    assert shares_of(params_of(tools=("read",)), {"input": 5}, find("claude-sonnet-4-5"), owner_of) == {}
    unknown = ModelInfo("m", None, None, Thinking.NONE, Prices(input=1, output=1))
    for info, usage in ((None, {"input": 5}), (unknown, {"input": 5, "cache_read": 5})):
        share = shares_of(params_of(), usage, info, owner_of)["a"]
        assert share.usd is None
        assert share.tokens > 0
    nothing = shares_of(params_of(), {}, find("claude-sonnet-4-5"), owner_of)["a"]
    assert (nothing.tokens, nothing.usd) == (0, 0)


COUNTS = st.integers(0, 10**6)


@given(
    st.lists(st.tuples(st.sampled_from(["a_1", "a_2", "b_1", "read"]), st.sampled_from(["x", "y" * 900, "image"]))),
    st.sets(st.sampled_from(["a_1", "a_2", "b_1", "read"])),
    st.fixed_dictionaries(dict.fromkeys(("input", "cache_read", "cache_write", "cache_write_1h", "output"), COUNTS)),
    st.sampled_from(sorted(CATALOGUE)),
)
def test_all_extensions_together_cost_at_most_the_request(calls, tools, usage, model) -> None:
    info = find(model)
    found = shares_of(params_of(*calls, tools=tuple(sorted(tools))), usage, info, owner_of)
    prompt = usage["input"] + usage["cache_read"] + usage["cache_write"]
    dollars = cost_usd(info, {**usage, "output": 0})
    assert dollars is not None
    assert sum(share.tokens for share in found.values()) <= prompt * (1 + 1e-9)
    assert sum(share.usd or 0.0 for share in found.values()) <= dollars * (1 + 1e-9) + 1e-12
    assert all(share.usd is not None and share.usd >= 0 <= share.tokens for share in found.values())
    owned = {owner_of(name) for name in (*tools, *(name for name, _ in calls))} - {""}
    assert set(found) == owned
