"""Says that another process ends what a host may leave."""

from __future__ import annotations

import msgspec


class Keeper(msgspec.Struct, frozen=True):
    """Of a host that another host has started, and that has neither a record nor a reaper: those of the other host
    cover it. Nor does it look for leftovers of dead hosts."""

    token: str
    """In the environment of every child, in place of a token of the host's own: the other host's, a dot, and more."""
    task: str = ""
    """The task of the host, for people."""
