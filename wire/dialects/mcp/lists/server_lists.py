"""Requests the lists of one server, tools and prompts, page by page, and again after changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.base import Message, UnsendableError, Warned
from wire.dialects.json_values import kind_of, objects, string
from wire.dialects.jsonrpc import METHOD_NOT_FOUND, encode
from wire.dialects.mcp import prompts, tools
from wire.dialects.mcp.limits import TooLongError, refuse_page
from wire.dialects.mcp.lists.list_state import ANSWER_S, ELEMENTS, OFFERS, ListStage, ListState
from wire.dialects.mcp.requests import Purpose, SentRequest
from wire.dialects.mcp.results import error_text
from wire.lenient_json import UNREADABLE, reason
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wire.dialects.base import Message, Received
    from wire.dialects.mcp.requests import SentRequests
    from wire.dialects.mcp.versions import ServerInfo


class Offers(Protocol):
    """The tools, or the prompts, of one server."""

    method: str
    """The method of the request for the list."""
    member: str
    """The member of the result with the elements."""

    def __len__(self) -> int: ...

    def first(self, elements: list[Any]) -> Iterator[Message]:
        """Registers the elements of a page of the first list: the host may not wait for the last page."""

    def whole(self, elements: list[Any]) -> Iterator[Message]:
        """Registers new elements of a complete list, and unregisters missing ones."""


class ServerTools:
    """The tools of a server, by their names for the model."""

    method = "tools/list"
    member = "tools"

    def __init__(self, server: str, options: Mapping[str, Any]) -> None:
        self._server = server
        self._options = options
        self._frames: dict[str, frames.RegisterTool] = {}
        self.names: dict[str, bytes] = {}
        """The server's own name of each tool, as JSON text."""

    def __len__(self) -> int:
        return len(self._frames)

    def first(self, elements: list[Any]) -> Iterator[Message]:
        for name, (raw, frame) in tools.registrations(self._server, elements, self._options).tools.items():
            if name not in self._frames and len(self._frames) < OFFERS:
                yield self._add(raw, frame)

    def whole(self, elements: list[Any]) -> Iterator[Message]:
        listed = tools.registrations(self._server, elements, self._options)
        kept = dict(list(listed.tools.items())[:OFFERS])
        for name in [name for name in self._frames if name not in kept]:
            del self._frames[name], self.names[name]
            yield frames.UnregisterTool(name)
        for name, (raw, frame) in kept.items():
            before = self._frames.get(name)
            if before is None or not is_same(before, frame):
                yield self._add(raw, frame)
            else:
                self.names[name] = encode(raw)
        yield from listed.warnings
        if len(listed.tools) > OFFERS:
            yield Warned("tools", f"it has more than {OFFERS} tools; the first {OFFERS} are used")

    def _add(self, raw: str, frame: frames.RegisterTool) -> frames.RegisterTool:
        self._frames[frame.name] = frame
        self.names[frame.name] = encode(raw)
        return frame


def is_same(one: frames.RegisterTool, other: frames.RegisterTool) -> bool:
    """Whether two registrations are equal. The order of members does not count: some servers change it each time, and a
    request to the model with another order is not found in its cache."""
    written = encode(one), encode(other)
    return written[0] == written[1] or msgspec.json.decode(written[0]) == msgspec.json.decode(written[1])


class ServerPrompts:
    """The prompts of a server, by the names of their commands. A command cannot be unregistered; the command of a
    removed prompt is refused when it is used."""

    method = "prompts/list"
    member = "prompts"

    def __init__(self, server: str) -> None:
        self._server = server
        self._frames: dict[str, frames.RegisterCommand] = {}
        self._prompts: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._prompts)

    def first(self, elements: list[Any]) -> Iterator[Message]:
        yield from self._register(elements, {})

    def whole(self, elements: list[Any]) -> Iterator[Message]:
        current: dict[str, dict[str, Any]] = {}
        yield from self._register(elements, current)
        self._prompts = current

    def _register(self, elements: list[Any], current: dict[str, dict[str, Any]]) -> Iterator[Message]:
        for element in elements:
            read = prompts.registration(self._server, element)
            if isinstance(read, Warned):
                yield read
                continue
            name, frame = read
            if frame.name in current:
                yield Warned(f"prompt {frame.name}", f"prompt {name[:80]!r} is skipped: another one has its name")
                continue
            if len(current) == OFFERS or (frame.name not in self._frames and len(self._frames) == OFFERS):
                yield Warned("prompts", f"it has more than {OFFERS} prompts; the first {OFFERS} are used")
                return
            current[frame.name] = self._prompts[frame.name] = _used_members(element)
            if self._frames.get(frame.name) != frame:
                self._frames[frame.name] = frame
                yield frame

    def request(self, command: str, args: str) -> bytes:
        """Returns the members of the request for a prompt. Raises `UnsendableError`."""
        prompt = self._prompts.get(command)
        if prompt is None:
            raise UnsendableError(f"the server no longer has a prompt for /{command}")
        given = prompts.arguments(prompt, args)
        return b'"name":%b,"arguments":%b' % (encode(prompt["name"]), encode(given))


def _used_members(prompt: dict[str, Any]) -> dict[str, Any]:
    """Returns only the members of a prompt that a call of the prompt needs: its name and its arguments."""
    declared = [
        {"name": name, "required": each.get("required")}
        for each in objects(prompt.get("arguments"))
        if (name := string(each.get("name")))
    ]
    return {"name": prompt["name"], "arguments": declared}


ERROR_SHOWN = 500
PORTION = 50
"""Number of tools and prompts that are registered at once. The host checks each, while all other extensions wait."""
PAUSE_S = 0.001
"""Seconds from one portion to the next."""


class _List(NamedTuple):
    listing: ListState
    offers: Offers


class _Page(msgspec.Struct):
    tools: Any = None
    prompts: Any = None
    nextCursor: Any = None  # noqa: N815


_page = msgspec.json.Decoder(_Page).decode


class Lists:
    """The lists of one server, by the kinds of their requests."""

    __slots__ = ("_declared", "_is_ready", "_lists", "_requests", "_untold", "_untold_due", "prompts", "tools")

    def __init__(self, server: str, options: Mapping[str, Any], requests: SentRequests) -> None:
        self.tools = ServerTools(server, options)
        self.prompts = ServerPrompts(server)
        self._requests = requests
        self._lists = {Purpose.TOOLS: _List(ListState(), self.tools)}
        self._declared: frozenset[Purpose] = frozenset()
        self._is_ready = False
        self._untold: list[Message] = []
        """The messages of the next portions, in order."""
        self._untold_due = 0.0

    @property
    def due_at(self) -> float | None:
        """The time at which to call `on_time`; None if never."""
        due = [each.listing.due_at for each in self._lists.values() if each.listing.due_at is not None]
        if self._untold:
            due.append(self._untold_due)
        return min(due, default=None)

    def begin(self, server: ServerInfo, now: float) -> bytes:
        """Requests the first lists."""
        declared = {Purpose.TOOLS: server.has_tools, Purpose.PROMPTS: server.has_prompts}
        self._declared = frozenset(kind for kind, is_declared in declared.items() if is_declared)
        if server.has_prompts:
            self._lists[Purpose.PROMPTS] = _List(ListState(), self.prompts)
        return b"".join(self._ask(kind, now) for kind in self._lists)

    def changed(self, kind: Purpose, now: float) -> None:
        """The server reports that a list has changed."""
        if kind in self._lists:
            self._lists[kind].listing.changed(now)

    def on_time(self, now: float) -> Received:
        messages: list[Message] = []
        asked = b""
        for kind, (listing, _) in self._lists.items():
            if listing.due_at is None or listing.due_at > now:
                continue
            if listing.stage is ListStage.CHANGED:
                asked += self._ask(kind, now)
            else:
                self._requests.forget(kind)
                messages += self._failed(kind, f"no answer within {ANSWER_S:g} s")
        return self._told(messages, now), asked

    def _told(self, messages: list[Message], now: float) -> list[Message]:
        """Adds messages behind the waiting ones, and returns the next portion."""
        untold = self._untold + messages
        self._untold, self._untold_due = untold[PORTION:], now + PAUSE_S
        return untold[:PORTION]

    def refused(self, kind: Purpose, error: Any, now: float) -> list[Message]:
        """The server answers with an error. A server without tools need not know the request."""
        code = error.get("code") if isinstance(error, dict) else None
        if code == METHOD_NOT_FOUND and kind not in self._declared:
            return self._told(self._end(kind), now)
        return self.failed(kind, one_line(error_text(error), ERROR_SHOWN), now)

    def failed(self, kind: Purpose, why: str, now: float) -> list[Message]:
        """The server does not send a list, or not completely. Registrations stay."""
        return self._told(self._failed(kind, why), now)

    def _failed(self, kind: Purpose, why: str) -> list[Message]:
        return [Warned(kind.value, f"{kind.value}: {why}; {self._kept(kind)}"), *self._end(kind)]

    def _kept(self, kind: Purpose) -> str:
        member, count = self._lists[kind].offers.member, len(self._lists[kind].offers)
        return f"continuing with {count} {member}" if count else f"continuing without {member}"

    def answered(self, kind: Purpose, result: Raw | UnsetType, now: float) -> Received:
        """Takes a page."""
        messages, asked = self._read(kind, result, now)
        return self._told(messages, now), asked

    def _read(self, kind: Purpose, result: Raw | UnsetType, now: float) -> tuple[list[Message], bytes]:
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
            request = SentRequest(kind)
            return messages, self._requests.send(request, b'"cursor":%b' % encode(read.cursor))
        if read.cut:
            messages.append(Warned(f"{kind.value} pages", f"{kind.value}: {read.cut}; the pages so far are used"))
        messages += offers.whole(listing.elements)
        return messages + self._end(kind), b""

    def _ask(self, kind: Purpose, now: float) -> bytes:
        self._lists[kind].listing.begin(now)
        return self._requests.send(SentRequest(kind))

    def _end(self, kind: Purpose) -> list[Message]:
        """A list has ended. `Ready` follows the end of all first lists."""
        self._lists[kind].listing.end()
        if self._is_ready or any(each.listing.stage is ListStage.ASKED for each in self._lists.values()):
            return []
        self._is_ready = True
        return [frames.Ready()]
