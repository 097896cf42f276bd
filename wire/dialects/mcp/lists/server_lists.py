"""The lists of one server, tools and prompts: asked for, read page by page, and asked for again when they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.base import Warned
from wire.dialects.jsonrpc import METHOD_NOT_FOUND, encode
from wire.dialects.mcp.limits import TooLongError, refuse_page
from wire.dialects.mcp.lists.listing import ANSWER_S, ELEMENTS, Listing, Stage
from wire.dialects.mcp.lists.offers import Offers, Prompts, Tools
from wire.dialects.mcp.requests import Kind, Request
from wire.dialects.mcp.results import error_text
from wire.dialects.mcp.values import kind_of
from wire.lenient_json import UNREADABLE, reason
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.dialects.base import Message, Received
    from wire.dialects.mcp.requests import Requests
    from wire.dialects.mcp.versions import Server

ERROR_SHOWN = 500


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

    __slots__ = ("_declared", "_is_ready", "_lists", "_requests", "prompts", "tools")

    def __init__(self, server: str, options: Mapping[str, Any], requests: Requests) -> None:
        self.tools = Tools(server, options)
        self.prompts = Prompts(server)
        self._requests = requests
        self._lists = {Kind.TOOLS: _List(Listing(), self.tools)}
        self._declared: frozenset[Kind] = frozenset()
        self._is_ready = False

    @property
    def due_at(self) -> float | None:
        """When `on_time` is to be called; None if never."""
        return min((due for each in self._lists.values() if (due := each.listing.due_at) is not None), default=None)

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
                messages += self.failed(kind, f"no answer within {ANSWER_S:g} s")
        return messages, asked

    def refused(self, kind: Kind, error: Any) -> list[Message]:
        """The server answers with an error. Without tools it may not know the request, and need not."""
        code = error.get("code") if isinstance(error, dict) else None
        if code == METHOD_NOT_FOUND and kind not in self._declared:
            return self._end(kind)
        return self.failed(kind, one_line(error_text(error), ERROR_SHOWN))

    def failed(self, kind: Kind, why: str) -> list[Message]:
        """The server does not give a list, or not to its end. What is registered stays."""
        return [Warned(kind.value, f"{kind.value}: {why}; {self._kept(kind)}"), *self._end(kind)]

    def _kept(self, kind: Kind) -> str:
        member, count = self._lists[kind].offers.member, len(self._lists[kind].offers)
        return f"going on with {count} {member}" if count else f"going on without {member}"

    def answered(self, kind: Kind, result: Raw | UnsetType, now: float) -> Received:
        """Takes a page."""
        listing, offers = self._lists[kind]
        size = 0 if result is UNSET else len(memoryview(result))
        try:
            if result is not UNSET:
                refuse_page("a page", result)
            page = _page(b"{}" if result is UNSET else result)
        except TooLongError as error:
            return self.failed(kind, str(error)), b""
        except UNREADABLE as error:
            return self.failed(kind, f"bad answer: {reason(error)}"), b""
        elements = getattr(page, offers.member)
        if not isinstance(elements, list):
            return self.failed(kind, f"bad answer: {offers.member} is {kind_of(elements)}, not a list"), b""
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
