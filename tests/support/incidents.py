"""The lines of `zot events --json`, each checked against its definition."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from tests.support.patience import PATIENCE_S
from wire.traces.incident import Incident

if TYPE_CHECKING:
    from tests.support.zot_process import Outcome, Running


def incidents(done: Outcome) -> list[Incident]:
    return [msgspec.json.decode(line, type=Incident) for line in done.stdout.splitlines()]


def next_incident(running: Running, event: str | None, extension: str = "") -> Incident:
    """Reads up to the next event of this kind, or of any kind, about this extension or about hosts."""
    deadline = time.monotonic() + PATIENCE_S
    while line := running._read_line(deadline):
        found = msgspec.json.decode(line, type=Incident)
        if event in (None, found.event) and found.extension == extension:
            return found
    raise AssertionError(f"no {event} of {extension!r}: {running.errors()}")
