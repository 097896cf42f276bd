"""The lists of one server, tools and prompts: asked for, read page by page, and asked for again when they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.base import Warned
from wire.dialects.json_values import kind_of
from wire.dialects.jsonrpc import METHOD_NOT_FOUND, encode
from wire.dialects.mcp.limits import TooLongError, refuse_page
from wire.dialects.mcp.lists.listing import ANSWER_S, ELEMENTS, Listing, Stage
from wire.dialects.mcp.lists.registered import Offers, Prompts, Tools
from wire.dialects.mcp.requests import Kind, Request
from wire.dialects.mcp.results import error_text
from wire.lenient_json import UNREADABLE, reason
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.dialects.base import Message, Received
    from wire.dialects.mcp.requests import Requests
    from wire.dialects.mcp.versions import Server

ERROR_SHOWN = 500
PORTION = 50
"""Tools and prompts that are told at once. The host judges each, and all other extensions wait meanwhile."""
PAUSE_S = 0.001
"""Seconds from one portion to the next."""


class _List(NamedTuple):
    listing: Listing
    offers: Offers


class _Page(msgspec.Struct):
    tools: Any = None
    prompts: Any = None
    nextCursor: Any = None  # noqa: N815


_page = msgspec.json.Decoder(_Page).decode


class Lists:
    """The lists of one server, by the kinds of their requests."""

    __slots__ = ("_declared", "_is_ready", "_lists", "_requests", "_untold", "_untold_due", "prompts", "tools")

    def __init__(self, server: str, options: Mapping[str, Any], requests: Requests) -> None:
        self.tools = Tools(server, options)
        self.prompts = Prompts(server)
        self._requests = requests
        self._lists = {Kind.TOOLS: _List(Listing(), self.tools)}
        self._declared: frozenset[Kind] = frozenset()
        self._is_ready = False
        self._untold: list[Message] = []
        """What the next portions tell, in order."""
        self._untold_due = 0.0

    @property
    def due_at(self) -> float | None:
        """When `on_time` is to be called; None if never."""
        due = [each.listing.due_at for each in self._lists.values() if each.listing.due_at is not None]
        if self._untold:
            due.append(self._untold_due)
        return min(due, default=None)

    def begin(self, server: Server, now: float) -> bytes:
        """Asks for the first lists."""
        declared = {Kind.TOOLS: server.has_tools, Kind.PROMPTS: server.has_prompts}
        self._declared = frozenset(kind for kind, is_declared in declared.items() if is_declared)
        if server.has_prompts:
            self._lists[Kind.PROMPTS] = _List(Listing(), self.prompts)
        return b"".join(self._ask(kind, now) for kind in self._lists)

    def changed(self, kind: Kind, now: float) -> None:
        """The server reports that a list has changed."""
        if kind in self._lists:
            self._lists[kind].listing.changed(now)

    def on_time(self, now: float) -> Received:
        messages: list[Message] = []
        asked = b""
        for kind, (listing, _) in self._lists.items():
            if listing.due_at is None or listing.due_at > now:
                continue
            if listing.stage is Stage.CHANGED:
                asked += self._ask(kind, now)
            else:
                self._requests.forget(kind)
                messages += self._failed(kind, f"no answer within {ANSWER_S:g} s")
        return self._told(messages, now), asked

    def _told(self, messages: list[Message], now: float) -> list[Message]:
        """The next portion of what is to be told, with these behind all that waits."""
        untold = self._untold + messages
        self._untold, self._untold_due = untold[PORTION:], now + PAUSE_S
        return untold[:PORTION]

    def refused(self, kind: Kind, error: Any, now: float) -> list[Message]:
        """The server answers with an error. Without tools it may not know the request, and need not."""
        code = error.get("code") if isinstance(error, dict) else None
        if code == METHOD_NOT_FOUND and kind not in self._declared:
            return self._told(self._end(kind), now)
        return self.failed(kind, one_line(error_text(error), ERROR_SHOWN), now)

    def failed(self, kind: Kind, why: str, now: float) -> list[Message]:
        """The server does not give a list, or not to its end. What is registered stays."""
        return self._told(self._failed(kind, why), now)

    def _failed(self, kind: Kind, why: str) -> list[Message]:
        return [Warned(kind.value, f"{kind.value}: {why}; {self._kept(kind)}"), *self._end(kind)]

    def _kept(self, kind: Kind) -> str:
        member, count = self._lists[kind].offers.member, len(self._lists[kind].offers)
        return f"going on with {count} {member}" if count else f"going on without {member}"

    def answered(self, kind: Kind, result: Raw | UnsetType, now: float) -> Received:
        """Takes a page."""
        messages, asked = self._read(kind, result, now)
        return self._told(messages, now), asked

    def _read(self, kind: Kind, result: Raw | UnsetType, now: float) -> tuple[list[Message], bytes]:
        listing, offers = self._lists[kind]
        size = 0 if result is UNSET else len(memoryview(result))
        try:
            if result is not UNSET:
                refuse_page("a page", result)
            page = _page(b"{}" if result is UNSET else result)
        except TooLongError as error:
            return self._failed(kind, str(error)), b""
        except UNREADABLE as error:
            return self._failed(kind, f"bad answer: {reason(error)}"), b""
        elements = getattr(page, offers.member)
        if not isinstance(elements, list):
            return self._failed(kind, f"bad answer: {offers.member} is {kind_of(elements)}, not a list"), b""
        messages: list[Message] = []
        if not self._is_ready and page.nextCursor is not None:
            messages += offers.first(elements[:ELEMENTS])
        read = listing.take(elements, page.nextCursor, size, len(offers), now)
        if read.cursor is not None:
            request = Request(kind)
            return messages, self._requests.send(request, b'"cursor":%b' % encode(read.cursor))
        if read.cut:
            messages.append(Warned(f"{kind.value} pages", f"{kind.value}: {read.cut}; the pages so far are used"))
        messages += offers.whole(listing.elements)
        return messages + self._end(kind), b""

    def _ask(self, kind: Kind, now: float) -> bytes:
        self._lists[kind].listing.begin(now)
        return self._requests.send(Request(kind))

    def _end(self, kind: Kind) -> list[Message]:
        """A list has ended. Behind the last one of the first comes `Ready`."""
        self._lists[kind].listing.end()
        if self._is_ready or any(each.listing.stage is Stage.ASKED for each in self._lists.values()):
            return []
        self._is_ready = True
        return [frames.Ready()]
