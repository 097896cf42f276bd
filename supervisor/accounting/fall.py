"""A fall: an extension ended, or failed a request, and nobody had asked for that."""

from __future__ import annotations

from typing import Literal

import msgspec

FallKind = Literal["crashed", "ended", "hung", "limit", "refused", "given_up", "no_verdict", "leak"]
"""crashed: its process ended with an error or by a signal; ended: by itself, without an error; hung: it did not answer;
limit: it was over its limits; refused: it broke its protocol, or cannot be started; given_up: it has fallen too often
and is not started again; no_verdict: a guard that gave none; leak: its memory only grows, and it goes on."""

OVER_LIMITS = "it is over its limits: "
"""Beginning of the cause of a fall of the kind `limit`; the figures follow."""


class Fall(msgspec.Struct, frozen=True):
    """One fall of an extension, without any text of the extension: a trace keeps it."""

    kind: FallKind
    cause: str
    """In the host's own words: `exit 3`, `3 requests in a row without an answer in time`."""
    pid: int | None = None
    """Pid of the process; None without one."""
    pending: int = 0
    """Number of its requests that waited for an answer."""
