"""`zot models`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.model import catalogue
from agent.model.catalogue import PACKAGED, READ, Thinking
from agent.providers.choice import choose
from agent.providers.user_models import load_user_models
from cli.columns import align_columns, print_table
from cli.json_line import print_json
from cli.terminal import complain
from supervisor.home.config import load_config
from supervisor.home.zot_home import zot_home
from wire.text import printable

if TYPE_CHECKING:
    from agent.model.catalogue import ModelInfo, Prices

UNKNOWN = "unknown"
HEADS = ("MODEL", "PROVIDER", "WINDOW", "OUTPUT", "IN/OUT $", "CACHE READ/WRITE $", "THINKS", "FROM", "")
THINKS = {Thinking.BUDGET: "by budget", Thinking.ADAPTIVE: "by effort", Thinking.NONE: "no"}


def run(*, as_json: bool) -> int:
    """Prints a line for each model; returns the exit status. Raises `ConfigError` and `UserModelsError`."""
    home = zot_home()
    known = load_user_models(home)
    choice = choose(None, None, load_config(home), known)
    catalogue.use(known.models)
    default = (choice.provider.name, choice.model)
    models = catalogue.known()
    if as_json:
        for info in models:
            print_json(record(info, is_default=(info.provider, info.id) == default))
    else:
        rows = [row(info, is_default=(info.provider, info.id) == default) for info in models]
        print_table([printable(line.rstrip()) for line in align_columns([HEADS, *rows], right=(2, 3, 4, 5))])
    for remark in choice.remarks:
        complain("models", remark)
    for name, api in known.unusable.items():
        complain("models", f"models.json: skipped {name}: it speaks {api}, and this program the Messages API only")
    if default not in {(info.provider, info.id) for info in models}:
        what = f"{choice.model} of {choice.provider.name}, of which nothing is known here" if choice.model else "none"
        complain(
            "models", f"the default is {what}" + ("" if choice.model else f": {choice.provider.name} needs --model ID")
        )
    return 0


def record(info: ModelInfo, *, is_default: bool) -> dict[str, Any]:
    """The model for a program: null is unknown."""
    long = info.long_prompt
    return {
        "id": info.id,
        "provider": info.provider,
        "name": info.name or info.id,
        "context_window": info.context_window,
        "max_output": info.max_output,
        "prices": _prices(info.prices),
        "long_prompt": None if long is None else {"over": long.over, "prices": _prices(long.prices)},
        "reasoning": info.thinking.value,
        "retires": info.retires,
        "default": is_default,
        "base_url": info.base_url,
        "source": info.source,
        "read": READ if info.source == PACKAGED else None,
    }


def row(info: ModelInfo, *, is_default: bool) -> tuple[str, ...]:
    """The model for a person."""
    prices, long = info.prices, info.long_prompt
    notes = [
        "default" if is_default else "",
        f"retires {info.retires}" if info.retires else "",
        f"over {long.over:,} tokens {_price_pair(long.prices.input, long.prices.output)}" if long else "",
    ]
    return (
        info.id,
        info.provider,
        _count(info.context_window),
        _count(info.max_output),
        _price_pair(prices.input, prices.output),
        _price_pair(prices.cache_read, prices.cache_write),
        THINKS[info.thinking],
        f"{info.source} {READ}" if info.source == PACKAGED else info.source,
        "; ".join(filter(None, notes)),
    )


def _prices(prices: Prices) -> dict[str, float | None]:
    return {name: getattr(prices, name) for name in prices.__struct_fields__}


def _count(tokens: int | None) -> str:
    return UNKNOWN if tokens is None else f"{tokens:,}"


def _price_pair(first: float | None, second: float | None) -> str:
    if first is None and second is None:
        return UNKNOWN
    return " / ".join(UNKNOWN if price is None else f"{price:g}" for price in (first, second))
