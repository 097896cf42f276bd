"""The lines of a session file: zot's format, one JSON object per line. Pure.

Rows are `meta` (the first line; a later one overrides it), `message`, `usage`, `rename` and `compaction`, whose
messages take the place of all before it; a zot that does not know `compaction` reads all messages. Content blocks have
no type tag: readers tell them apart by their fields. A row that cannot be read is a value that says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from wire.events import Totals
from wire.lenient_json import ARGUMENTS_DEPTH, is_deeper, json_on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent.transcript import Block

Json = dict[str, Any]

ROLES = ("user", "assistant", "tool")
TOKENS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
}
"""The counts of `Totals` by their names in a file."""


class Meta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a session is. Fields that a file leaves out are empty."""

    id: str = ""
    """A UUID."""
    cwd: str = ""
    model: str = ""
    provider: str = ""
    started: str = ""
    """RFC 3339."""
    version: str = ""
    """Of the program that began it."""
    title: str = ""
    parent: str = ""
    """The id of the session that this one is a fork of."""
    fork_point: int = 0
    """How many messages of the parent were copied."""
    hide_from_sessions: bool = False
    """zot's own branches, which lists leave out."""


class Rename(msgspec.Struct, frozen=True):
    title: str


class Compaction(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]


class Other(msgspec.Struct, frozen=True):
    """A row of a type that this program does not know. It is left as it is."""

    type: str


class Unreadable(msgspec.Struct, frozen=True):
    reason: str


Row = Meta | Message | Totals | Rename | Compaction | Other | Unreadable

# --- to a file ----------------------------------------------------------------------------------------------


def meta_line(meta: Meta) -> bytes:
    return _line({"type": "meta", "meta": {**_REQUIRED, **msgspec.to_builtins(meta)}})


_REQUIRED = {"id": "", "cwd": "", "model": "", "provider": "", "started": "0001-01-01T00:00:00Z", "version": ""}
"""The fields that zot always writes."""


def message_line(message: Message) -> bytes:
    """The row of a message; empty for a message without content, which readers would leave out."""
    return _line({"type": "message", "message": _message(message)}) if message.content else b""


def usage_line(cumulative: Totals) -> bytes:
    """The running totals, under `usage` and under `cumulative`, as zot does. An unknown cost is left out."""
    totals: Json = {name: getattr(cumulative, field) for field, name in TOKENS.items()}
    if cumulative.cost_usd is not None:
        totals["cost_usd"] = cumulative.cost_usd
    return _line({"type": "usage", "usage": totals, "cumulative": totals})


def compaction_line(messages: Iterable[Message]) -> bytes:
    """All messages of the conversation from now on, the summary first."""
    return _line({"type": "compaction", "messages": [_message(message) for message in messages if message.content]})


def _line(row: Json) -> bytes:
    return orjson.dumps(row) + b"\n"


def _message(message: Message) -> Json:
    return {"role": message.role, "content": [_block(block) for block in message.content], "time": message.time}


def _block(block: Block) -> Json:
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Image):
        return {"mime_type": block.mime_type, "data": block.data}
    if isinstance(block, Thinking):
        return {
            "reasoning_id": "",
            "summary": block.text,
            "encrypted_content": block.redacted or block.signature,
            "redacted": bool(block.redacted),
        }
    if isinstance(block, ToolCall):
        return {"id": block.id, "name": block.name, "arguments": _arguments(block.args)}
    assert isinstance(block, ToolResult)
    return {
        "call_id": block.call_id,
        "content": [_block(part) for part in block.content],
        "is_error": block.is_error,
    }


def _arguments(args: bytes) -> Any:
    """Valid JSON as it is; any other text, and JSON nested deeper than `ARGUMENTS_DEPTH`, as a JSON string, which every
    reader can load."""
    try:
        is_readable = not is_deeper(orjson.loads(args), ARGUMENTS_DEPTH)
    except orjson.JSONDecodeError:
        is_readable = False
    if not is_readable:
        return args.decode("utf-8", "replace")
    return orjson.Fragment(bytes(json_on_one_line(args)))


# --- from a file --------------------------------------------------------------------------------------------


class _Fields(msgspec.Struct, frozen=True):
    """Any row."""

    type: str = ""
    meta: msgspec.Raw = msgspec.Raw(b"")
    message: msgspec.Raw = msgspec.Raw(b"")
    messages: msgspec.Raw = msgspec.Raw(b"")
    cumulative: msgspec.Raw = msgspec.Raw(b"")
    title: str = ""


class _Content(msgspec.Struct, frozen=True):
    """Any block."""

    text: str = ""
    mime_type: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"")
    call_id: str = ""
    content: tuple[_Content, ...] | None = ()
    is_error: bool = False
    reasoning_id: str = ""
    summary: str = ""
    encrypted_content: str = ""
    redacted: bool = False


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: tuple[_Content, ...] | None = ()
    time: str = ""


_row = msgspec.json.Decoder(_Fields)
_meta = msgspec.json.Decoder(Meta)
_one = msgspec.json.Decoder(_Message)
_many = msgspec.json.Decoder(tuple[_Message, ...])
_totals = msgspec.json.Decoder(dict[str, Any])
_text = msgspec.json.Decoder(str)


def read_row(line: bytes) -> Row:
    """What a line says, its LF left out."""
    try:
        return _read_row(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, _BadRowError) as error:
        return Unreadable(str(error) or type(error).__name__)


class _BadRowError(ValueError):
    pass


def _read_row(line: bytes) -> Row:
    row = _row.decode(line)
    match row.type:
        case "message":
            return _read_message(_one.decode(row.message or b"{}"))
        case "usage":
            return _read_totals(_totals.decode(row.cumulative or b"{}"))
        case "meta":
            return _meta.decode(row.meta or b"{}")
        case "rename":
            return Rename(row.title)
        case "compaction":
            return Compaction(tuple(_read_message(message) for message in _many.decode(row.messages or b"[]")))
        case other:
            return Other(other)


def _read_message(message: _Message) -> Message:
    if message.role not in ROLES:
        raise _BadRowError(f"there is no role {message.role[:40]!r}")
    content = tuple(block for part in message.content or () if (block := _read_block(part)) is not None)
    return Message(message.role, content, message.time)  # type: ignore[arg-type]


def _read_block(part: _Content) -> Block | None:
    """None for a block that no request could have: the reasoning of another provider, and an empty text."""
    if part.reasoning_id or part.summary or part.encrypted_content:
        if part.reasoning_id or not part.encrypted_content:
            return None
        secret = part.encrypted_content
        return Thinking("", redacted=secret) if part.redacted else Thinking(part.summary, secret)
    if part.name and part.id:
        return ToolCall(part.id, part.name, _read_arguments(bytes(part.arguments)))
    if part.call_id:
        parts = tuple(_read_part(inner) for inner in part.content or ())
        return ToolResult(part.call_id, parts, part.is_error)
    if part.mime_type:
        return Image(part.mime_type, part.data)
    return Text(part.text) if part.text else None


def _read_part(part: _Content) -> Text | Image:
    return Image(part.mime_type, part.data) if part.mime_type else Text(part.text)


def _read_arguments(raw: bytes) -> bytes:
    """What the model wrote. A JSON string holds a text that is no JSON."""
    if raw.startswith(b'"'):
        return _text.decode(raw).encode()
    return b"{}" if raw in (b"", b"null") else raw


def _read_totals(given: Mapping[str, Any]) -> Totals:
    """The totals. zot says 0 for a price that it does not know: a 0 beside tokens is unknown, too."""
    counts = {field: _count(given.get(name)) for field, name in TOKENS.items()}
    cost = given.get("cost_usd")
    is_known = isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < float("inf")
    if not is_known or (not cost and any(counts.values())):
        return Totals(**counts, cost_usd=0.0 if not any(counts.values()) else None)
    return Totals(**counts, cost_usd=float(cost or 0))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else 0
