"""Messages of JSON-RPC 2.0: reads messages from a line, finds some members of an unreadable message, and writes
requests, notifications and answers. Pure.

Messages of other programs are read leniently: `jsonrpc` may be missing, `null` stands for no value, and invalid Unicode
becomes U+FFFD. An id that is sent back is kept as it was written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.framing import PREFIX_KEPT
from wire.lenient_json import MARK, UNREADABLE, reason, repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.framing import Line

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ERROR = -32000
"""The first of the codes that a server may use for any purpose."""
ID_LIMIT = 256
"""Maximum length of an id in bytes. A request with a longer one is not answered."""
BATCH_LIMIT = 1000
"""Maximum number of messages of a batch that are read."""
BATCH_COMMAS = 100_000
"""Maximum number of commas in a batch that is read, which bounds its messages: all are separated at once."""
_CANDIDATES = 8
"""Maximum number of positions in a line at which a message is searched."""
_START = re.compile(rb'\{"(?:jsonrpc|result|method)"')
"""The start of a message behind other text in its line."""
_NULL = b"null"
_VERSION = b'"2.0"'

encode = msgspec.json.Encoder().encode


class Incoming(msgspec.Struct):
    """One message: a request if it has a method and an id, a notification if only a method, else an answer."""

    jsonrpc: Raw | UnsetType = UNSET
    method: str | None = None
    id: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def written_id(self) -> bytes:
        """The id as it was written; empty if it is missing, null, or neither a string nor a number."""
        written = b"" if self.id is UNSET else bytes(self.id).strip()
        return written if written[:1] in b'"-0123456789' and len(written) <= ID_LIMIT else b""

    @property
    def names_its_version(self) -> bool:
        """Whether it names version 2.0 of JSON-RPC."""
        return self.jsonrpc is not UNSET and bytes(self.jsonrpc) == _VERSION

    @property
    def failure(self) -> bytes:
        """The error of an answer as JSON text; empty without an error."""
        text = b"" if self.error is UNSET else bytes(self.error)
        return b"" if text == _NULL else text


class Unreadable(NamedTuple):
    """A line, or an element of a batch, that is not a message. If it looks like one, `seen` has its members."""

    reason: str
    seen: SeenMembers
    code: int = INVALID_REQUEST
    """Code of the error in answer to it: not JSON, or not a message."""


class SeenMembers(NamedTuple):
    """The members of a message that are in its first and last bytes."""

    id: bytes = b""
    """The id as it was written; empty if it is not seen. A request's id is valid JSON, for the answer."""
    method: str = ""
    """The method; empty if it is not seen."""
    is_answer: bool = False
    """Whether a `result` or an `error` is seen, but no method."""


_NO_OBJECT = Unreadable("not a JSON object", SeenMembers())
_NO_JSON = _NO_OBJECT._replace(code=PARSE_ERROR)

decode = msgspec.json.Decoder(Incoming).decode
"""Reads one message. Raises one of `UNREADABLE`."""
_elements = msgspec.json.Decoder(list[Raw]).decode


def read(line: Line, *, has_noise: bool = True) -> Sequence[Incoming | Unreadable]:
    """Returns the messages in a line: none for a blank line, each message of a batch, and with `has_noise` the last
    message of a line that starts with other text. Never raises."""
    text = bytes(line).removeprefix(MARK).strip()
    if not text:
        return ()
    if text.startswith(b"["):
        return _batch(text, has_noise=has_noise)
    return (_message(text, has_noise=has_noise),)


def _batch(text: bytes, *, has_noise: bool) -> Sequence[Incoming | Unreadable]:
    if text.count(b",") > BATCH_COMMAS:
        return (Unreadable(f"a batch of {len(text)} bytes with too many parts", SeenMembers()),)
    try:
        elements = _elements(text)
    except UNREADABLE:
        if (mended := repair(text)) is not None:
            return _batch(mended, has_noise=has_noise)
        return (_message(text, has_noise=has_noise),)
    if not elements:  # from a client it is a mistake; from a server it is noise
        return () if has_noise else (Unreadable("an empty batch", SeenMembers()),)
    read_ones = [_element(bytes(element)) for element in elements[:BATCH_LIMIT]]
    if len(elements) > BATCH_LIMIT:
        read_ones.append(
            Unreadable(f"a batch of {len(elements)} messages; {BATCH_LIMIT} of them are read", SeenMembers())
        )
    return read_ones


def _element(text: bytes) -> Incoming | Unreadable:
    return _message(text, has_noise=False) if text.startswith(b"{") else _NO_OBJECT


def _message(text: bytes, *, has_noise: bool) -> Incoming | Unreadable:
    try:
        return decode(text)
    except UNREADABLE as error:
        wrong: Exception = error
    if (mended := repair(text)) is not None:
        try:
            return decode(mended)
        except UNREADABLE as error:
            wrong, text = error, mended
    tried = 0
    for start in _START.finditer(text, 1) if has_noise else ():
        try:
            return decode(memoryview(text)[start.start() :])
        except UNREADABLE:
            tried += 1
            if tried == _CANDIDATES:
                break
    is_json = isinstance(wrong, msgspec.ValidationError) and not text.startswith(b"[")  # such a text is not a batch
    if not text.startswith(b"{"):
        return _NO_OBJECT if is_json else _NO_JSON
    code = INVALID_REQUEST if is_json else PARSE_ERROR
    return Unreadable(reason(wrong), peek(text[:PREFIX_KEPT], text[-PREFIX_KEPT:]), code)


# --- messages with only their ends known --------------------------------------------------------------------

_VALUE = rb'"(?:[^"\\]|\\.){0,200}"|-?[0-9][-+.0-9eE]*|true|false|null'
_HEAD = re.compile(rb'\s*"([A-Za-z_]+)"\s*:\s*(?:(' + _VALUE + rb")(?=[\s,}])\s*,?)?")
_MEMBER = rb'\s*"[A-Za-z_]+"\s*:\s*(?:' + _VALUE + rb")\s*"
# Any text can be divided in one way only, so the time grows at most with the square of its length.
_TAIL = re.compile(rb"[,{](" + _MEMBER + rb"(?:," + _MEMBER + rb"){0,7})\}\s*\Z")


def peek(start: bytes, end: bytes) -> SeenMembers:
    """Returns the members in the first and the last bytes of one message. Programs write the id first or last."""
    if not start.lstrip().startswith(b"{"):
        return SeenMembers()
    members: dict[bytes, bytes] = {}
    at = start.index(b"{") + 1
    while member := _HEAD.match(start, at):
        name, value = member.groups()
        members[name] = value or b""
        at = member.end()
        if value is None:
            break  # the rest is inside this member
    if tail := _TAIL.search(end):
        for member in _HEAD.finditer(tail[1] + b"}"):
            members[member[1]] = member[2] or b""
    written = members.get(b"id", b"")
    method = members.get(b"method", b"")[1:-1].decode("utf-8", "replace")
    is_usable = written[:1] in b'"-0123456789' and len(written) <= ID_LIMIT and (not method or _is_json(written))
    return SeenMembers(
        written if is_usable else b"",
        method,
        b"method" not in members and not members.keys().isdisjoint({b"result", b"error"}),
    )


def _is_json(written: bytes) -> bool:
    try:
        msgspec.json.decode(written)
    except UNREADABLE:
        return False
    return True


def number_of(written: bytes) -> int | None:
    """Returns the number of an id, or None. Some programs change numbers: `"7"` and `7.0` are 7."""
    digits = written.strip(b'"')
    if len(digits) > 20:
        return None
    if digits.isdigit():
        return int(digits)
    whole, dot, rest = digits.partition(b".")
    return int(whole) if dot and whole.isdigit() and not rest.strip(b"0") else None


# --- writing ------------------------------------------------------------------------------------------------


def request_body(number: int, method: str, params: bytes) -> bytes:
    """Returns a request. `params` is JSON text."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}' % (number, method.encode(), params)


def answer_body(written_id: bytes, result: bytes) -> bytes:
    """Returns an answer. The id is written as it came."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (written_id, result)


def refusal_body(written_id: bytes, code: int, message: str, data: bytes = b"") -> bytes:
    """Returns an error answer. `data` is JSON text, or empty."""
    more = b',"data":%b' % data if data else b""
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b%b}}' % (written_id, code, encode(message), more)


def request(number: int, method: str, params: bytes) -> bytes:
    """Returns a request as one line. `params` is JSON text on one line."""
    return request_body(number, method, params) + b"\n"


def notification(method: str, params: bytes = b"") -> bytes:
    """Returns a notification as one line. `params` is JSON text, or empty."""
    if not params:
        return b'{"jsonrpc":"2.0","method":"%b"}\n' % method.encode()
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}\n' % (method.encode(), params)


def answer(written_id: bytes, result: bytes) -> bytes:
    """Returns an answer as one line. The id is written as it came."""
    return answer_body(written_id, result) + b"\n"


def refusal(written_id: bytes, code: int, message: str, data: bytes = b"") -> bytes:
    """Returns an error answer as one line."""
    return refusal_body(written_id, code, message, data) + b"\n"
