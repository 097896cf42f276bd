"""The levels of reasoning, in zot's words: for `--reasoning`, the settings, and `set_reasoning` of rpc."""

from __future__ import annotations

from typing import Literal, get_args

Reasoning = Literal["off", "minimum", "low", "medium", "high", "xhigh", "max"]
LEVELS: tuple[Reasoning, ...] = get_args(Reasoning)
"""From the least to the most."""
