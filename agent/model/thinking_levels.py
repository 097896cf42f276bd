"""The levels of reasoning that a model has, and how a request asks for one. Pure.

Sources, read in November 2026: the pages on effort and on thinking at platform.claude.com/docs, and for 4.6 to 5.5 the
pages on what is new in each model. Budgets are zot's.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agent.model import catalogue
from agent.model.catalogue import Thinking
from wire.reasoning_levels import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.reasoning_levels import Reasoning

BUDGETS: Mapping[Reasoning, int] = {
    "minimum": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768,
}  # fmt: skip
"""Maximum tokens of a model's thinking, by level. The API takes no budget below 1,024."""
ROOM_FOR_ANSWER = 4_096
"""Tokens that the answer has beside a budget; half of the model's limit if that is less."""
EFFORTS: tuple[Reasoning, ...] = ("low", "medium", "high", "xhigh", "max")
"""The levels of a model that takes an effort, under the same words."""
WITHOUT_XHIGH = frozenset({"claude-sonnet-4-6", "claude-opus-4-6"})
OFF: Mapping[str, str] = {
    "claude-sonnet-4-6": "",
    "claude-opus-4-6": "",
    "claude-opus-4-7": "",
    "claude-opus-4-8": "",
    "claude-sonnet-5": "disabled",
    "claude-opus-5": "disabled",
    "claude-haiku-5-5": "disabled",
    "claude-sonnet-5-5": "between_tools",
}
"""The type of thinking that turns it off, for models that take an effort; "": they think only if asked to. Each other
one always thinks, or is not known: newer ones refuse `disabled` with HTTP 400."""


def levels_of(model: str) -> tuple[Reasoning, ...]:
    """The levels that this model has, from the least to the most."""
    thinking = catalogue.thinking_of(model)
    if thinking is Thinking.NONE:
        return ("off",)
    if thinking is Thinking.BUDGET:
        most = _most_output(model)
        room = min(ROOM_FOR_ANSWER, most // 2)
        return ("off", *(level for level in BUDGETS if BUDGETS[level] + room <= most))
    name = catalogue.plain_name(model)
    efforts = tuple(level for level in EFFORTS if level != "xhigh" or name not in WITHOUT_XHIGH)
    return ("off", *efforts) if name in OFF else efforts


def _most_output(model: str) -> int:
    info = catalogue.find(model)
    return sys.maxsize if info is None or info.max_output is None else info.max_output


def nearest_level(model: str, wanted: Reasoning) -> Reasoning:
    """The level that requests to this model have: the wanted one; else the next lower one that thinks; else its lowest
    one that does; `off` if it cannot think."""
    levels = levels_of(model)
    if wanted in levels:
        return wanted
    thinking = [level for level in levels if level != "off"]
    lower = [level for level in thinking if LEVELS.index(level) < LEVELS.index(wanted)]
    return "off" if not thinking else lower[-1] if lower else thinking[0]


def remark(model: str, wanted: Reasoning) -> str:
    """A line for the user if the model has not the wanted level; else empty."""
    used = nearest_level(model, wanted)
    if used == wanted:
        return ""
    if wanted == "off":
        return f"reasoning off has no effect: {model} always thinks; {used} is used"
    if used != "off":
        return f"reasoning {wanted}: {model} has {', '.join(levels_of(model))}; {used} is used"
    if catalogue.thinking_of(model) is Thinking.NONE:
        return f"reasoning {wanted} has no effect: models.json says that {model} cannot think"
    return f"reasoning {wanted} has no effect: the replies of {model} are too short for it, as models.json says"


def request_fields(model: str, wanted: Reasoning, max_tokens: int) -> dict[str, Any]:
    """The fields of a request that ask for the nearest level. With a budget, its `max_tokens` grow if the answer had
    less than `ROOM_FOR_ANSWER` otherwise, as far as the model allows."""
    level = nearest_level(model, wanted)
    is_effort = catalogue.thinking_of(model) is Thinking.ADAPTIVE
    if level == "off":
        kind = OFF[catalogue.plain_name(model)] if is_effort else ""
        return {"thinking": {"type": kind}} if kind else {}
    if is_effort:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
    budget = BUDGETS[level]
    room = max(max_tokens, min(budget + ROOM_FOR_ANSWER, _most_output(model)))
    return {"thinking": {"type": "enabled", "budget_tokens": budget}, "max_tokens": room}
