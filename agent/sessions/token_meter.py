"""Works out the tokens of a session's last request from the running totals in its file. Pure.

The difference of two rows of totals is one request only if one reply is between them. This program writes the totals
before the reply; others write them after it, after the results of its calls, or once for several requests; the last
kind cannot be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.sessions.rows import TOKENS
from wire.events import Totals

if TYPE_CHECKING:
    from agent.transcript import Message

SEVERAL = 2
"""Stands for two or more replies, or an unknown number."""


class RequestTokens(msgspec.Struct, frozen=True):
    tokens: int
    """Tokens of a request and its reply, as the provider counted them."""
    messages: int
    """The number of messages of the request and its reply, from the beginning of the conversation."""


class TokenMeter:
    """Follows the rows of a file, in their order."""

    def __init__(self) -> None:
        self.last: RequestTokens | None = None
        """The last request since the last compaction whose tokens are known; None if there is none."""
        self._totals = Totals(0, 0, 0, 0)
        self._replies = 0
        """The number of replies since the last totals, without the reply that these count."""
        self._reply_at = 0
        """The number of messages up to the last of these replies."""
        self._after = ""
        """The role of the last message."""
        self._due: int | None = None
        """Tokens of the last totals if they count the next message, should that be a reply; 0 if unknown; else None."""

    def message(self, message: Message, count: int) -> None:
        """Takes a message. `count`: the messages of the conversation, with this one."""
        due, self._due = self._due, None
        self._after = message.role
        if message.role != "assistant":
            return
        if due is None:
            self._replies, self._reply_at = self._replies + 1, count
        elif due:
            self.last = RequestTokens(due, count)

    def totals(self, totals: Totals) -> None:
        spent = {name: getattr(totals, name) - getattr(self._totals, name) for name in TOKENS}
        tokens = sum(spent.values()) if any(spent[name] for name in spent if name != "output") else 0
        replies = self._replies
        self._totals, self._replies, self._due = totals, 0, None
        if min(spent.values()) < 0:
            self.last, tokens = None, 0
        if self._after == "user" or (self._after == "tool" and not replies):
            self._due = 0 if replies else tokens
        elif replies == 1 and tokens:
            self.last = RequestTokens(tokens, self._reply_at)

    def compaction(self, role: str) -> None:
        """Takes a compaction. `role`: the role of the last of its messages; "" without messages."""
        self.last, self._after, self._due = None, role, None
        self._replies = SEVERAL if self._replies else 0

    def lost(self) -> None:
        """Takes an unreadable row. It may have been a reply, so the next difference is not used."""
        self._replies, self._due = SEVERAL, None
