"""What a batch orders from a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.pool.run_outcome import Attempt
    from wire.batch import link


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run, and within which limits."""

    attempt: Attempt
    begin: link.Begin
    events: Path
    stderr: Path
    timeout_s: float | None = None
    """Seconds of the whole attempt, without those in which it is paused."""
    memory: int | None = None
    """Bytes that its processes may have for themselves."""
