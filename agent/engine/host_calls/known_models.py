"""The known models, as clients and extensions are told of them."""

from __future__ import annotations

from agent.model import catalogue
from wire.dialects.host_calls import ModelInfo


def known_models() -> tuple[ModelInfo, ...]:
    """The packaged models and those of the user's file."""
    return tuple(
        ModelInfo(
            info.id,
            info.provider,
            info.context_window or 0,
            info.max_output or 0,
            reasoning=info.thinking is not catalogue.Thinking.NONE,
        )
        for info in catalogue.known()
    )
