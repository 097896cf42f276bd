"""What of a server is registered with the host: its tools and its prompts, and what a new list changes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from wire import frames
from wire.dialects.base import Message, UnsendableError, Warned
from wire.dialects.json_values import objects, string
from wire.dialects.jsonrpc import encode
from wire.dialects.mcp import prompts, tools
from wire.dialects.mcp.lists.listing import OFFERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Offers(Protocol):
    """The tools, or the prompts, of one server."""

    method: str
    """The request for the list."""
    member: str
    """Where its result has the elements."""

    def __len__(self) -> int: ...

    def first(self, elements: list[Any]) -> Iterator[Message]:
        """Registers what a page of the first list has: the host may not wait for the last one."""

    def whole(self, elements: list[Any]) -> Iterator[Message]:
        """Registers and takes back what differs from a whole list."""


class Tools:
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
    """Whether two registrations mean the same. The order of members does not count: some servers change it each time,
    and a request that differs in it costs as much as another one."""
    written = encode(one), encode(other)
    return written[0] == written[1] or msgspec.json.decode(written[0]) == msgspec.json.decode(written[1])


class Prompts:
    """The prompts of a server, by the names of their commands. A command cannot be taken back; that of a prompt which
    is gone is refused when it is used."""

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
                yield Warned(f"prompt {frame.name}", f"prompt {name[:80]!r} is left out: another one has its name")
                continue
            if len(current) == OFFERS or (frame.name not in self._frames and len(self._frames) == OFFERS):
                yield Warned("prompts", f"it has more than {OFFERS} prompts; the first {OFFERS} are used")
                return
            current[frame.name] = self._prompts[frame.name] = _kept(element)
            if self._frames.get(frame.name) != frame:
                self._frames[frame.name] = frame
                yield frame

    def request(self, command: str, args: str) -> bytes:
        """The members of the request for a prompt. Raises `UnsendableError`."""
        prompt = self._prompts.get(command)
        if prompt is None:
            raise UnsendableError(f"the server has no prompt for /{command} any more")
        given = prompts.arguments(prompt, args)
        return b'"name":%b,"arguments":%b' % (encode(prompt["name"]), encode(given))


def _kept(prompt: dict[str, Any]) -> dict[str, Any]:
    """What of a prompt is needed to use it."""
    declared = [
        {"name": name, "required": each.get("required")}
        for each in objects(prompt.get("arguments"))
        if (name := string(each.get("name")))
    ]
    return {"name": prompt["name"], "arguments": declared}
