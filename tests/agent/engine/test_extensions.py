"""Finds and starts the extensions of a run, and waits for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.abort import Abort
from agent.engine import extensions
from agent.options import LEAST_S, SETTLE_S
from wire.manifest import Manifest


class StartingExtension:
    def __init__(self, dialect: str) -> None:
        self.manifest = Manifest("x", "x", dialect=dialect)


@pytest.mark.parametrize(
    ("dialects", "is_settled", "model_is_ready", "asked", "waits"),
    [
        (["zot"], False, False, None, [LEAST_S, SETTLE_S]),
        (["zot"], True, False, None, [LEAST_S]),
        (["zot"], False, True, None, [SETTLE_S]),
        (["zot", "mcp"], False, False, None, [5.0, LEAST_S, SETTLE_S]),
        (["copilot", "zot", "mcp"], False, False, None, [5.0, 10.0, LEAST_S, SETTLE_S]),
        (["zot", "mcp"], False, False, 0.0, [0.0]),
        (["zot"], False, True, 9.0, [9.0]),
    ],
    ids=[
        "still starting",
        "all are ready",
        "a replayed run",
        "an MCP server",
        "two dialects",
        "no wait",
        "a longer wait",
    ],
)
def test_how_long_the_first_request_waits_for_extensions(dialects, is_settled, model_is_ready, asked, waits):
    """However soon the model is ready: an extension that needs half a second is in the first request."""
    deadlines: list[float] = []

    def settle(deadline: float, _enough: object) -> bool:
        deadlines.append(deadline - 100.0)
        return is_settled

    supervisor: Any = SimpleNamespace(
        loop=SimpleNamespace(clock=lambda: 100.0),
        settle=settle,
        extensions=[StartingExtension(dialect) for dialect in dialects],
    )
    extensions.settle(
        cast("Any", SimpleNamespace(extension_wait=asked)),
        supervisor,
        cast("Any", SimpleNamespace(is_ready=model_is_ready)),
        Abort(),
    )
    assert deadlines == waits
