"""Reads from a recording how the recorded run went on."""

from __future__ import annotations

from typing import NamedTuple

from agent.cassette.player import CassettePlayer


class LastReply(NamedTuple):
    """The end of a recording."""

    replies: int
    """The number of recorded replies."""
    text: str
    """The text of the last one."""


def read_last_reply(path: str, cwd: str) -> LastReply:
    """Raises `CassetteError` for a file that is no recording."""
    player = CassettePlayer.load(path, cwd=cwd)
    return LastReply(player.remaining, player.last_text)
