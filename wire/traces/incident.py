"""Incidents, events of extensions and hosts: the lines of `zot events --json`, one JSON object each."""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.stats import HostKind  # noqa: TC001  (msgspec reads the annotations)

IncidentKind = Literal[
    "host_started", "host_ended", "started", "late", "restarted", "reloaded", "exited", "stopped", "failed", "limit",
    "no_verdict", "warning",
]  # fmt: skip
"""host_started, host_ended: the host itself. Of an extension: started: it is ready; late: it joins late, or was waited
for; exited: it ended, and the text says whether it is restarted; stopped: a user has stopped it; failed: it is given up
or cannot be started; limit: it was over its limits; no_verdict: a guard gave none."""


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """One event. It has no prompt, no argument and no content; the text of an event that was followed as it happened
    may quote the last words of an extension."""

    time: float
    """Seconds since the epoch."""
    pid: int
    """Pid of the host."""
    host: HostKind
    """The kind of the host."""
    cwd: str
    """The folder of the host."""
    extension: str
    """The extension; empty for the host itself."""
    event: IncidentKind
    text: str
    """One line; empty if the event says all."""
