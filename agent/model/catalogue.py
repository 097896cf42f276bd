"""The known Claude models: sizes, prices, and thinking parameters.

An unlisted model works, too; only its cost is unknown. Sources, read in November 2026: the ids and the
retirement dates are in the anthropic SDK (`types/model.py`, `resources/messages/messages.py`); windows, limits, prices
and thinking styles are on the model pages and the price list at platform.claude.com/docs (`cache_write` is the price
of the five-minute cache; a write to that of an hour costs twice the input). The cache-read price of claude-sonnet-5-5
is the one in force since 2026-10-07. claude-fable-5-2 is of 2026-11-09. The mythos models are left out, because only a
few may use them.

The models of the user's `models.json` come before these: `use` adds them, once, before a run starts.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

READ = "2026-11"
"""The month in which the packaged data was compared with its sources."""
PACKAGED = "packaged"
"""The source of the entries here; the source of other entries is their file."""
DEFAULT_MODEL = "claude-sonnet-5-5"
"""zot's own default is claude-sonnet-4-5. The provider retires it on 2026-11-30 and names this model as successor."""
BATCH_FACTOR = 0.5
"""The part of its price that a request costs in a message batch, cached tokens included."""
HOUR_TIMES = 2.0
"""Price of a token that is cached for an hour, in those of an input token."""
NEWEST_CACHED = 512
"""Tokens of the shortest prefix that the newest models cache; the page of the provider on prompt caching has them."""
MAX_TOKENS = 32_000
"""Maximum tokens of a reply, unless the model's own limit is lower."""
MAX_TOKENS_UNKNOWN_MODEL = 8_192


class Thinking(Enum):
    """How to ask a model to reason."""

    BUDGET = "enabled"
    """The request has the maximum of tokens for thinking."""
    ADAPTIVE = "adaptive"
    """The request has an effort level, and the model decides how long it thinks. Most of these models refuse a budget
    with HTTP 400."""
    NONE = "none"
    """The model cannot think: the request has no field for it."""


class Prices(msgspec.Struct, frozen=True):
    """US dollars per million tokens. None: unknown. 0: free."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None

    @property
    def cache_write_1h(self) -> float | None:
        """The price of a write that is kept for an hour: the provider's multiple of the input, for all models."""
        return None if self.input is None else HOUR_TIMES * self.input

    @property
    def are_known(self) -> bool:
        """Whether the cost of a request without cached tokens is known."""
        return self.input is not None and self.output is not None


class LongPrompt(msgspec.Struct, frozen=True):
    """The prices of a request whose prompt, cached tokens included, is longer than `over` tokens."""

    over: int
    prices: Prices


class ModelInfo(msgspec.Struct, frozen=True):
    id: str
    """The id in a request; an alias and its dated form are two entries."""
    context_window: int | None
    """Tokens; None is unknown."""
    max_output: int | None
    """Tokens; None is unknown."""
    thinking: Thinking
    prices: Prices
    long_prompt: LongPrompt | None = None
    retires: str | None = None
    """The ISO date after which the API refuses the model; None if no date is announced."""
    provider: str = "anthropic"
    name: str = ""
    """The name for people; if "", the id is shown."""
    base_url: str | None = None
    """The user's address for this model, or for its provider; None if unset."""
    source: str = PACKAGED
    least_cached: int | None = None
    """Tokens of the shortest prefix that the provider caches; None is unknown."""


_OPUS_4 = Prices(input=5, output=25, cache_read=0.5, cache_write=6.25)
_SONNET_4 = Prices(input=3, output=15, cache_read=0.3, cache_write=3.75)
_HAIKU_5_LONG = LongPrompt(100_000, Prices(input=0.5, output=2.5, cache_read=0.05, cache_write=0.625))


def _small(model_id: str, prices: Prices, least_cached: int, retires: str | None = None) -> ModelInfo:
    return ModelInfo(model_id, 200_000, 64_000, Thinking.BUDGET, prices, least_cached=least_cached, retires=retires)


def _large(
    model_id: str, prices: Prices, long_prompt: LongPrompt | None = None, *, least_cached: int = NEWEST_CACHED
) -> ModelInfo:
    return ModelInfo(model_id, 1_000_000, 128_000, Thinking.ADAPTIVE, prices, long_prompt, least_cached=least_cached)


CATALOGUE: Mapping[str, ModelInfo] = {
    info.id: info
    for info in (
        _small("claude-sonnet-4-5", _SONNET_4, 1_024, retires="2026-11-30"),
        _small("claude-sonnet-4-5-20250929", _SONNET_4, 1_024, retires="2026-11-30"),
        _small("claude-haiku-4-5", Prices(1, 5, 0.1, 1.25), 4_096),
        _small("claude-haiku-4-5-20251001", Prices(1, 5, 0.1, 1.25), 4_096),
        _small("claude-opus-4-5", _OPUS_4, 4_096),
        _small("claude-opus-4-5-20251101", _OPUS_4, 4_096),
        _large("claude-sonnet-4-6", _SONNET_4, least_cached=1_024),
        _large("claude-opus-4-6", _OPUS_4, least_cached=4_096),
        _large("claude-opus-4-7", _OPUS_4, least_cached=2_048),
        _large("claude-opus-4-8", _OPUS_4, least_cached=1_024),
        _large("claude-sonnet-5", Prices(2, 10, 0.2, 2.5), least_cached=1_024),
        _large("claude-opus-5", _OPUS_4),
        _large("claude-fable-5", Prices(10, 50, 1, 12.5)),
        _large("claude-fable-5-1", Prices(10, 50, 0.25, 12.5)),
        _large("claude-opus-5-5", Prices(4, 20, 0.2, 5)),
        _large("claude-sonnet-5-5", Prices(2, 10, 0.1, 2.5)),
        _large("claude-haiku-5-5", Prices(0.1, 0.5, 0.01, 0.125), _HAIKU_5_LONG),
        _large("claude-fable-5-2", Prices(8, 40, 0.2, 10)),
    )
}
"""The models by id, in order of release."""


_users: dict[str, ModelInfo] = {}
"""The usable models of the user's file by id: set by `use`."""
_all_users: tuple[ModelInfo, ...] = ()


def use(models: Iterable[ModelInfo], provider: str | None = None) -> None:
    """Puts the models of the user's file before the packaged ones, and drops those of an earlier call. With `provider`,
    `find` and its callers see only the models of this provider; another provider may use the same id."""
    global _users, _all_users  # noqa: PLW0603  (once for a process, before its run starts)
    _all_users = tuple(models)
    _users = {}
    for info in _all_users:
        if provider is None or info.provider == provider:
            _users.setdefault(info.id, info)


def known() -> list[ModelInfo]:
    """All models: the packaged ones, then those of the user's file. A user's entry for a packaged model replaces
    that."""
    mine = {(info.provider, info.id): info for info in _all_users}
    packaged = [mine.pop((info.provider, info.id), info) for info in CATALOGUE.values()]
    return [*packaged, *mine.values()]


def find(model_id: str) -> ModelInfo | None:
    """The entry with exactly this id; None for an unknown model."""
    return _users.get(model_id) or CATALOGUE.get(model_id)


def max_tokens(model_id: str) -> int:
    """Maximum tokens of a reply of this model."""
    info = find(model_id)
    if info is None or info.max_output is None:
        return MAX_TOKENS_UNKNOWN_MODEL
    return min(MAX_TOKENS, info.max_output)


def least_cached(model_id: str) -> int | None:
    """Tokens of the shortest prefix that the provider caches. An unknown Claude model counts as one of the newest; None
    for any other unknown model: the servers that imitate the API have no such cache, or fill it by themselves."""
    plain = plain_name(model_id)
    if plain in CATALOGUE:
        return CATALOGUE[plain].least_cached
    return NEWEST_CACHED if plain.startswith("claude-") else None


def thinking_of(model_id: str) -> Thinking:
    """How to ask this model to reason."""
    info = find(model_id)
    return thinking_by_name(model_id) if info is None else info.thinking


def thinking_by_name(model_id: str) -> Thinking:
    """How to ask a model without an entry to reason.

    An unknown Claude model counts as newer than the catalogue, and newer models take no budget. Any other name belongs
    to a server that imitates the API; such servers know the budget.
    """
    plain = plain_name(model_id)
    if plain in CATALOGUE:
        return CATALOGUE[plain].thinking
    return Thinking.ADAPTIVE if plain.startswith("claude-") else Thinking.BUDGET


def plain_name(model_id: str) -> str:
    """The id as Anthropic writes it: gateways write `anthropic/claude-opus-4.5` for `claude-opus-4-5`."""
    return model_id.rpartition("/")[2].replace(".", "-")


def cost_usd(info: ModelInfo | None, usage: Mapping[str, int]) -> float | None:
    """The cost of one request in US dollars; None if a needed price is unknown: zot's 0 would read as "free".

    `usage` has the token counts `input`, `output`, `cache_read` and `cache_write` (absent is 0), and `cache_write_1h`,
    the part of `cache_write` that is kept for an hour: more of it than of that counts as all. For a running total, add
    up the costs of the requests: with `long_prompt` the price depends on the length of each prompt.
    """
    if info is None or not info.prices.are_known:
        return None
    dollars = usage.get("output", 0) * (_prices_for(info, usage).output or 0.0)
    for count, price in _prompt_parts(info, usage):
        if count and price is None:
            return None
        dollars += count * (price or 0.0)
    return dollars / 1_000_000


def prompt_parts(info: ModelInfo, usage: Mapping[str, int]) -> tuple[tuple[int, float], ...]:
    """The parts of a request's prompt in its order, each with its tokens and the US dollars of one token: read from the
    cache, written for an hour, written, and not cached. `cost_usd` must know the cost of the request."""
    return tuple((count, (price or 0.0) / 1_000_000) for count, price in _prompt_parts(info, usage))


def _prompt_parts(info: ModelInfo, usage: Mapping[str, int]) -> tuple[tuple[int, float | None], ...]:
    prices, written = _prices_for(info, usage), usage.get("cache_write", 0)
    hour = min(usage.get("cache_write_1h", 0), written)
    return (
        (usage.get("cache_read", 0), prices.cache_read),
        (hour, prices.cache_write_1h),
        (written - hour, prices.cache_write),
        (usage.get("input", 0), prices.input),
    )


def _prices_for(info: ModelInfo, usage: Mapping[str, int]) -> Prices:
    prompt = usage.get("input", 0) + usage.get("cache_read", 0) + usage.get("cache_write", 0)
    is_long = info.long_prompt is not None and prompt > info.long_prompt.over
    return info.long_prompt.prices if info.long_prompt is not None and is_long else info.prices
