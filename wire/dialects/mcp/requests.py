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
    """What a request is. The value is its method."""

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
    """A request that is not answered."""

    __slots__ = ("id", "kind", "members", "rounds")

    def __init__(self, kind: Purpose, id: str = "", members: bytes = b"") -> None:  # noqa: A002
        self.kind = kind
        self.id = id
        """The host's id of a call, a command or a ping."""
        self.members = members
        """Its parameters, if it may have to be sent again."""
        self.rounds = 0


class SentRequests:
    """The requests to one process."""

    __slots__ = ("_calls", "_number", "_waiting", "meta")

    def __init__(self) -> None:
        self.meta = b""
        """What `_meta` of each request holds, with a comma behind each member; empty in the legacy era."""
        self._number = 0
        self._waiting: dict[int, SentRequest] = {}
        self._calls: dict[str, int] = {}  # numbers of calls and commands by the host's ids

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def calls(self) -> Collection[str]:
        """The host's ids of calls and commands that wait for an answer."""
        return self._calls.keys()

    @property
    def last(self) -> int:
        """The number of the request that was sent last."""
        return self._number

    def send(self, request: SentRequest, members: bytes = b"", method: str = "") -> bytes:
        """A request as a line. `members` are those of its parameters, as JSON text."""
        self._number = number = self._number + 1
        self._waiting[number] = request
        if self.meta:
            members = b'%b%b"_meta":{%b}' % (members, b"," if members else b"", self.meta[:-1])
        return jsonrpc.request(number, method or request.kind.value, b"{%b}" % members)

    def call(self, request: SentRequest, members: bytes) -> bytes:
        """A call, or a command, as a line. Its progress is reported under its number."""
        self._number = number = self._number + 1
        self._waiting[number] = request
        self._calls[request.id] = number
        return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{%b,"_meta":{%b"progressToken":%d}}}\n' % (
            number, request.kind.value.encode(), members, self.meta, number,
        )  # fmt: skip

    def take(self, number: int | None) -> SentRequest | None:
        """The request with this number, which then waits no more; None if none has it."""
        request = None if number is None else self._waiting.pop(number, None)
        if request is not None and self._calls.get(request.id) == number:
            del self._calls[request.id]
        return request

    def take_tool_call(self, number: int) -> str | None:
        """The host's id of the tool call with this number, which then waits no more; None if none has it."""
        request = self._waiting.get(number)
        if request is None or request.kind is not Purpose.CALL:
            return None
        del self._waiting[number], self._calls[request.id]
        return request.id

    def kind_of(self, number: int | None) -> Purpose | None:
        """The kind of the request with this number; None if none waits that has it."""
        request = None if number is None else self._waiting.get(number)
        return None if request is None else request.kind

    def only(self, kinds: Collection[Purpose]) -> int | None:
        """The number of the one request of these kinds that waits; None if there are several, or none."""
        numbers = [number for number, request in self._waiting.items() if request.kind in kinds]
        return numbers[0] if len(numbers) == 1 else None

    def take_call(self, call_id: str) -> int | None:
        """The number of a call, which then waits no more."""
        number = self._calls.get(call_id)
        self.take(number)
        return number

    def forget(self, kind: Purpose) -> None:
        """Requests of this kind wait no more."""
        for number in [number for number, request in self._waiting.items() if request.kind is kind]:
            del self._waiting[number]

    def call_of(self, number: int) -> str | None:
        """The host's id of the call with this number, if it waits for its answer."""
        request = self._waiting.get(number)
        return request.id if request is not None and request.kind is Purpose.CALL else None
