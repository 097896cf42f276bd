"""The requests of the host to one server: their numbers, and which of them wait for an answer. Pure.

They are numbered 1, 2, 3 and so on: some servers round large numbers, and others drop them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from wire.dialects import jsonrpc
from wire.dialects.mcp import protocol

if TYPE_CHECKING:
    from collections.abc import Collection


class Purpose(Enum):
    """The purpose of a request. The value is its method."""

    OPENING = protocol.INITIALIZE
    DISCOVER = protocol.DISCOVER
    TOOLS = protocol.LIST_TOOLS
    PROMPTS = protocol.LIST_PROMPTS
    LEVEL = protocol.SET_LEVEL
    LISTEN = protocol.LISTEN
    PING = protocol.PING
    CALL = protocol.CALL_TOOL
    COMMAND = protocol.GET_PROMPT


class SentRequest:
    """An unanswered request."""

    __slots__ = ("about", "id", "kind", "members", "rounds")

    def __init__(self, kind: Purpose, id: str = "", members: bytes = b"", about: bytes = b"") -> None:  # noqa: A002
        self.kind = kind
        self.id = id
        """The host's id of a call, a command or a ping."""
        self.members = members
        """Its parameters, if the host may have to send it again."""
        self.about = about
        """Further members of its `_meta`, with a comma behind each."""
        self.rounds = 0


class SentRequests:
    """The requests to one process."""

    __slots__ = ("_calls", "_number", "_waiting", "meta")

    def __init__(self) -> None:
        self.meta = b""
        """The members of `_meta` of each request, with a comma behind each; empty in the legacy era."""
        self._number = 0
        self._waiting: dict[int, SentRequest] = {}
        self._calls: dict[str, int] = {}  # numbers of calls and commands by the host's ids

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def calls(self) -> Collection[str]:
        """The host's ids of open calls and commands."""
        return self._calls.keys()

    @property
    def last(self) -> int:
        """The number of the last request."""
        return self._number

    def send(self, request: SentRequest, members: bytes = b"", method: str = "") -> bytes:
        """Returns a request as a line. `members` are the members of its parameters, as JSON text."""
        self._number = number = self._number + 1
        self._waiting[number] = request
        if self.meta:
            members = b'%b%b"_meta":{%b}' % (members, b"," if members else b"", self.meta[:-1])
        return jsonrpc.request(number, method or request.kind.value, b"{%b}" % members)

    def call(self, request: SentRequest, members: bytes) -> bytes:
        """Returns a call or a command as a line. Progress is reported under its number."""
        self._number = number = self._number + 1
        self._waiting[number] = request
        self._calls[request.id] = number
        return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{%b,"_meta":{%b%b"progressToken":%d}}}\n' % (
            number, request.kind.value.encode(), members, self.meta, request.about, number,
        )  # fmt: skip

    def take(self, number: int | None) -> SentRequest | None:
        """Removes and returns the open request with this number, or None."""
        request = None if number is None else self._waiting.pop(number, None)
        if request is not None and self._calls.get(request.id) == number:
            del self._calls[request.id]
        return request

    def take_tool_call(self, number: int) -> str | None:
        """Removes the open tool call with this number, and returns the host's id, or None."""
        request = self._waiting.get(number)
        if request is None or request.kind is not Purpose.CALL:
            return None
        del self._waiting[number], self._calls[request.id]
        return request.id

    def kind_of(self, number: int | None) -> Purpose | None:
        """Returns the kind of the open request with this number, or None."""
        request = None if number is None else self._waiting.get(number)
        return None if request is None else request.kind

    def only(self, kinds: Collection[Purpose]) -> int | None:
        """Returns the number of the only open request of these kinds; None if there are several, or none."""
        numbers = [number for number, request in self._waiting.items() if request.kind in kinds]
        return numbers[0] if len(numbers) == 1 else None

    def take_call(self, call_id: str) -> int | None:
        """Removes an open call, and returns its number, or None."""
        number = self._calls.get(call_id)
        self.take(number)
        return number

    def forget(self, kind: Purpose) -> None:
        """Removes all requests of this kind."""
        for number in [number for number, request in self._waiting.items() if request.kind is kind]:
            del self._waiting[number]

    def call_of(self, number: int) -> str | None:
        """Returns the host's id of the open call with this number, or None."""
        request = self._waiting.get(number)
        return request.id if request is not None and request.kind is Purpose.CALL else None
