"""Tells a host that another host ends the processes that it may leave."""

from __future__ import annotations

import msgspec


class Keeper(msgspec.Struct, frozen=True):
    """For a host that another host has started. It needs no record and no reaper, since those of the other host cover
    it, and does not look for leftovers of dead hosts."""

    token: str
    """The token in the environment of every child, instead of the host's own: the other host's, a dot, and more."""
    task: str = ""
    """The task of a batch that the host is for; "" for any other host."""
