"""Messages of JSON-RPC 2.0: how one is read from a line, how its members are named if it cannot be read, and how
requests, notifications and answers are written. Pure.

What another program says is read leniently: `jsonrpc` may be missing, `null` stands for no value, and invalid Unicode
becomes U+FFFD. An id that goes back to the other side is kept as it was written.
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
"""The first of the codes that every server may use as it likes."""
ID_LIMIT = 256
"""Bytes of an id. A request with a longer one is not answered."""
BATCH_LIMIT = 1000
"""Messages of a batch that are read."""
BATCH_COMMAS = 100_000
"""Commas in a batch that is read: it cannot have many more messages, which are told apart all at once."""
_CANDIDATES = 8
"""Places in a line at which a message is looked for."""
_START = re.compile(rb'\{"(?:jsonrpc|result|method)"')
"""Where a message may begin in a line that begins with something else."""
_NULL = b"null"
_VERSION = b'"2.0"'

encode = msgspec.json.Encoder().encode


class Incoming(msgspec.Struct):
    """One message. It is a request if it has a method and an id, a notification if it has a method only, and else an
    answer."""

    jsonrpc: Raw | UnsetType = UNSET
    method: str | None = None
    id: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def written_id(self) -> bytes:
        """The id as it was written; empty if there is none, if it is null, or neither a string nor a number."""
        written = b"" if self.id is UNSET else bytes(self.id).strip()
        return written if written[:1] in b'"-0123456789' and len(written) <= ID_LIMIT else b""

    @property
    def names_its_version(self) -> bool:
        """Whether it says that it is JSON-RPC 2.0."""
        return self.jsonrpc is not UNSET and bytes(self.jsonrpc) == _VERSION

    @property
    def failure(self) -> bytes:
        """The error of an answer as JSON text; empty if there is none."""
        text = b"" if self.error is UNSET else bytes(self.error)
        return b"" if text == _NULL else text


class Unreadable(NamedTuple):
    """A line, or an element of a batch, that is no message. If it looks like one, its members say which."""

    reason: str
    seen: SeenMembers
    code: int = INVALID_REQUEST
    """Of the error that answers it: whether it is no JSON, or no message."""


class SeenMembers(NamedTuple):
    """The members of a message that its first and its last bytes show."""

    id: bytes = b""
    """As it was written; empty if it is not seen. That of a request is JSON, so that it can be answered."""
    method: str = ""
    """The method, if it is seen."""
    is_answer: bool = False
    """Whether a `result` or an `error` is seen, and no method."""


_NO_OBJECT = Unreadable("not a JSON object", SeenMembers())
_NO_JSON = _NO_OBJECT._replace(code=PARSE_ERROR)

decode = msgspec.json.Decoder(Incoming).decode
"""Reads one message. Raises one of `UNREADABLE`."""
_elements = msgspec.json.Decoder(list[Raw]).decode


def read(line: Line, *, has_noise: bool = True) -> Sequence[Incoming | Unreadable]:
    """The messages in a line: none in a blank one, each of a batch, and if it `has_noise` the last one of a line whose
    start is something else. Never raises."""
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
    if not elements:  # a client's mistake; from a server it is noise that asks for nothing
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
    is_json = isinstance(wrong, msgspec.ValidationError) and not text.startswith(b"[")  # such a text is no batch
    if not text.startswith(b"{"):
        return _NO_OBJECT if is_json else _NO_JSON
    code = INVALID_REQUEST if is_json else PARSE_ERROR
    return Unreadable(reason(wrong), peek(text[:PREFIX_KEPT], text[-PREFIX_KEPT:]), code)


# --- messages of which only the ends are known --------------------------------------------------------------

_VALUE = rb'"(?:[^"\\]|\\.){0,200}"|-?[0-9][-+.0-9eE]*|true|false|null'
_HEAD = re.compile(rb'\s*"([A-Za-z_]+)"\s*:\s*(?:(' + _VALUE + rb")(?=[\s,}])\s*,?)?")
_MEMBER = rb'\s*"[A-Za-z_]+"\s*:\s*(?:' + _VALUE + rb")\s*"
# Whatever a text is, there is one way only to divide it: the time is that of its length, squared at most.
_TAIL = re.compile(rb"[,{](" + _MEMBER + rb"(?:," + _MEMBER + rb"){0,7})\}\s*\Z")


def peek(start: bytes, end: bytes) -> SeenMembers:
    """What the first and the last bytes of one message say. Programs write the id first, or last."""
    if not start.lstrip().startswith(b"{"):
        return SeenMembers()
    members: dict[bytes, bytes] = {}
    at = start.index(b"{") + 1
    while member := _HEAD.match(start, at):
        name, value = member.groups()
        members[name] = value or b""
        at = member.end()
        if value is None:
            break  # what follows is inside of this member
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
    """The number that an id stands for. Some programs make strings or fractions of numbers: `"7"` and `7.0` are 7."""
    digits = written.strip(b'"')
    if len(digits) > 20:
        return None
    if digits.isdigit():
        return int(digits)
    whole, dot, rest = digits.partition(b".")
    return int(whole) if dot and whole.isdigit() and not rest.strip(b"0") else None


# --- what is written ----------------------------------------------------------------------------------------


def request_body(number: int, method: str, params: bytes) -> bytes:
    """A request. `params` is JSON text."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}' % (number, method.encode(), params)


def answer_body(written_id: bytes, result: bytes) -> bytes:
    """An answer. The id is written as it came."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (written_id, result)


def refusal_body(written_id: bytes, code: int, message: str, data: bytes = b"") -> bytes:
    """An answer that is an error, with its data as JSON text if it has any."""
    more = b',"data":%b' % data if data else b""
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b%b}}' % (written_id, code, encode(message), more)


def request(number: int, method: str, params: bytes) -> bytes:
    """A request as one line. `params` is JSON text on one line."""
    return request_body(number, method, params) + b"\n"


def notification(method: str, params: bytes = b"") -> bytes:
    """A notification as one line, with its parameters as JSON text if it has any."""
    if not params:
        return b'{"jsonrpc":"2.0","method":"%b"}\n' % method.encode()
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}\n' % (method.encode(), params)


def answer(written_id: bytes, result: bytes) -> bytes:
    """An answer as one line. The id is written as it came."""
    return answer_body(written_id, result) + b"\n"


def refusal(written_id: bytes, code: int, message: str, data: bytes = b"") -> bytes:
    """An answer that is an error, as one line."""
    return refusal_body(written_id, code, message, data) + b"\n"
