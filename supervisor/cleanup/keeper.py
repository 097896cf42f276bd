"""Says that another process ends what a host may leave."""

from __future__ import annotations

import msgspec


class Keeper(msgspec.Struct, frozen=True):
    """Of a host that another host has started, and that has neither a record nor a reaper: those of the other host
    cover it. Nor does it look for what dead hosts have left."""

    token: str
    """In the environment of every child, in the place of a token of the host's own: that of the other host, a dot, and
    more."""
    task: str = ""
    """The task of the host, for people."""
