"""Messages of the host to one extension: requests, with the purpose of each, and events. Pure.

A request ends at its first answer. After its time is over it stays until its late answer comes, or until 10,000 newer
requests wait.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from wire.dialects import jsonrpc
from wire.dialects.jsonrpc import encode
from wire.framing.content_length import add_header
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

WAITING_LIMIT = 10_000


class Purpose(Enum):
    """The purpose of a request. The value is its method."""

    HOOK = "hooks.invoke"
    USER_INPUT = "userInput.request"
    PING = "zot.ping"
    """No extension knows this method: any answer shows that everything written before has been read."""
    LEFT = "zot.left"
    """The same, for an extension that leaves the session."""


class SentRequest(NamedTuple):
    """An unanswered request."""

    kind: Purpose
    id: str
    """The host's id of the question, the call or the ping."""
    extra: Any = None
    """A value for the handling of the answer."""


class SentRequests:
    """The numbers of the requests to one extension, and the ids and times of its events."""

    __slots__ = ("_ids", "_number", "_second", "_second_text", "_unix_ms", "_waiting", "last_event", "session_id")

    def __init__(self, unix_ms: Callable[[], int]) -> None:
        self.session_id = b'""'
        """The session's id as JSON text, once the extension has named it."""
        self.last_event = b"null"
        """The id of the last event, as JSON text."""
        self._unix_ms = unix_ms
        self._waiting: dict[int, SentRequest] = {}
        self._number = 0
        self._ids = 0
        self._second = -1
        self._second_text = b""

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, request: SentRequest, params: bytes) -> bytes:
        """Returns the bytes of a request. `params` is JSON text."""
        self._number = number = self._number + 1
        waiting = self._waiting
        waiting[number] = request
        if len(waiting) > WAITING_LIMIT:
            del waiting[next(iter(waiting))]
        return add_header(jsonrpc.request_body(number, request.kind._value_, params))

    def take(self, number: int | None) -> SentRequest | None:
        """Removes and returns the open request with this number, or None."""
        return None if number is None else self._waiting.pop(number, None)

    def take_call(self, kind: Purpose, call_id: str) -> None:
        """Removes the open request of this kind for this id."""
        for number, request in self._waiting.items():
            if request.id == call_id and request.kind is kind:
                del self._waiting[number]
                return

    def next_id(self) -> str:
        """Returns a new id in the form of a UUID, for an event or a message."""
        self._ids = number = self._ids + 1
        return f"{number:08x}-0000-4000-8000-000000000000"

    def envelope(self, kind: str, data: bytes) -> bytes:
        """Returns an event as JSON text, with an id and the time. `data` is JSON text."""
        before, self.last_event = self.last_event, b'"%b"' % self.next_id().encode()
        return b'{"id":%b,"timestamp":"%b","parentId":%b,"type":"%b","data":%b}' % (
            self.last_event, self.time(), before, kind.encode(), data,
        )  # fmt: skip

    def event(self, kind: str, data: bytes) -> bytes:
        """Returns the bytes of an event. `data` is JSON text."""
        return self.told(self.envelope(kind, data))

    def told(self, envelope: bytes) -> bytes:
        """Returns the bytes of an envelope."""
        return add_header(
            b'{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":%b,"event":%b}}'
            % (self.session_id, envelope)
        )

    def time(self) -> bytes:
        """Returns the current time as `2026-01-31T12:00:00.123Z`."""
        second, ms = divmod(self._unix_ms(), 1000)
        if second != self._second:
            self._second = second
            self._second_text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
        return b"%b.%03dZ" % (self._second_text, ms)


def encode_answer(written_id: bytes, result: bytes) -> bytes:
    """Returns the bytes of the answer to a request of the extension. `result` is JSON text."""
    return add_header(jsonrpc.answer_body(written_id, result))


def encode_value(written_id: bytes, result: Any) -> bytes:
    """Like `encode_answer`, with the result as a value. Names of files in it need not be Unicode."""
    try:
        text = encode(result)
    except UnicodeEncodeError:
        text = encode(_valid(result))
    return add_header(jsonrpc.answer_body(written_id, text))


def _valid(value: Any) -> Any:
    if isinstance(value, dict):
        return {_valid(name): _valid(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_valid(each) for each in value]
    return valid_text(value) if isinstance(value, str) else value


def encode_error(written_id: bytes, code: int, message: str) -> bytes:
    """Returns the bytes of an error in answer to a request of the extension."""
    return add_header(jsonrpc.refusal_body(written_id, code, valid_text(message)))
