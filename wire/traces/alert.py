"""Events of runs, hosts and batches, as a program or an address in `on_event` of the user's config gets them."""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.stats import HostKind  # noqa: TC001  (msgspec reads the annotations)

AlertWord = Literal["given_up", "limit", "no_verdict", "leak", "batch_end"]
"""given_up: an extension fell too often, or cannot be started, and is not started again; limit: it was over its limits;
no_verdict: a guard gave none; leak: its memory only grows; batch_end: a batch has ended."""


class AlertEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event. It has no prompt, no argument and no content: `cause` is in the host's own words."""

    event: AlertWord
    time: float
    """Seconds since the epoch."""
    host: HostKind
    run: str = ""
    """The id of the run, for `zot runs show ID`; missing without a trace."""
    cwd: str
    """The folder of the run, the host or the batch."""
    extension: str = ""
    """The extension; missing for `batch_end`."""
    kind: str = ""
    """The kind of its fall: `given_up`, `refused`, `limit`, `no_verdict` or `leak`; missing for `batch_end`."""
    cause: str = ""
    """One line: the cause of the fall, or the reason for which the batch ended."""
    pid: int | None = None
    """Pid of the process of the extension; missing without one."""
    folder: str = ""
    """For `batch_end`, as the next three: the folder of the batch."""
    statuses: dict[str, int] = {}
    """Number of tasks by status, as in the batch's last record."""
    exit_code: int | None = None
    cost_usd: float | None = None
    """US dollars; missing if unknown."""


class Alert(msgspec.Struct, frozen=True):
    """The JSON object on one line of standard input, or the body of the POST."""

    events: tuple[AlertEvent, ...]
    """The events since the last alert of the rule, the oldest first: 100 at most."""
    more: int = 0
    """Number of further events that are left out."""


_encoder = msgspec.json.Encoder()


def encode(event: AlertEvent) -> bytes:
    """The JSON text of an event, without LF."""
    return _encoder.encode(event)
