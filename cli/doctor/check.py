"""One check of `zot doctor`. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from supervisor.harness.findings import Level


class Check(NamedTuple):
    """The outcome of one check. `advice` says what to do; it may be empty."""

    name: str
    level: Level
    message: str
    advice: str = ""
    host: int | None = None
    """Pid of the host that it is about."""
    extension: str = ""
    """Name of the extension of that host that it is about."""
    kind: str = ""
    """The kind of its alarm, or `not_started`."""
    since: float | None = None
    """In seconds since the epoch, if that is known."""
