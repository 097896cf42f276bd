"""How long a test waits for what is sure to come: only so that one that hangs ends, and says where."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop

PATIENCE_S = 120.0
"""Far above what a busy machine takes for a step of a test, and below `timeout` in pyproject.toml. A process that
must not end by itself during a test (a sleeping child, say) takes longer."""


def soon(loop: Loop, predicate: Callable[[], bool]) -> None:
    """Runs the loop until the predicate holds."""
    assert loop.run_until(predicate, loop.clock() + PATIENCE_S)
