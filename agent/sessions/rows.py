"""The lines of a session file: zot's format, one JSON object per line. Pure.

Rows are `meta` (the first line; a later one overrides it), `message`, `usage`, `rename`, `summary` and `compaction`,
whose messages replace all earlier ones; a zot that does not know `compaction` reads all messages. Content
blocks have no type tag: readers tell them apart by their fields. An unreadable row is a value with the reason.
"""

from __future__ import annotations

import binascii
import json
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
    """The first row of a session. Fields that a file leaves out are empty."""

    id: str = ""
    """A UUID."""
    cwd: str = ""
    model: str = ""
    provider: str = ""
    started: str = ""
    """RFC 3339."""
    version: str = ""
    """The version of the program that began it."""
    title: str = ""
    parent: str = ""
    """The id of the session that this one is a fork of."""
    fork_point: int = 0
    """The number of messages copied from the parent."""
    hide_from_sessions: bool = False
    """zot's own branches, which lists leave out."""


class Rename(msgspec.Struct, frozen=True):
    title: str


class Summary(msgspec.Struct, frozen=True):
    """The summary that a guard has written at the session's end. The model does not see it."""

    text: str


class Compaction(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]


class Other(msgspec.Struct, frozen=True):
    """A row of a type that this program does not know. It is left as it is."""

    type: str


class Unreadable(msgspec.Struct, frozen=True):
    reason: str


Row = Meta | Message | Totals | Rename | Summary | Compaction | Other | Unreadable

# --- to a file ----------------------------------------------------------------------------------------------


def meta_line(meta: Meta) -> bytes:
    return _line({"type": "meta", "meta": {**_REQUIRED, **msgspec.to_builtins(meta)}})


NO_TIME = "0001-01-01T00:00:00Z"
"""An unknown time, as zot writes it. zot leaves out a message with an invalid time, such as ""."""
_REQUIRED = {"id": "", "cwd": "", "model": "", "provider": "", "started": NO_TIME, "version": ""}
"""The fields that zot always writes."""


def message_line(message: Message) -> bytes:
    """The row of a message; b"" for a message without content, which readers would leave out."""
    return _line({"type": "message", "message": _message(message)}) if message.content else b""


def usage_line(cumulative: Totals) -> bytes:
    """The running totals, under `usage` and under `cumulative`, as zot does. An unknown cost is left out."""
    totals: Json = {name: getattr(cumulative, field) for field, name in TOKENS.items()}
    if cumulative.cost_usd is not None:
        totals["cost_usd"] = cumulative.cost_usd
    if cumulative.is_partial:
        totals["is_partial"] = True
    if cumulative.reasoning is not None:
        totals["reasoning_tokens"] = cumulative.reasoning
        totals["reasoning_tokens_known"] = True
    return _line({"type": "usage", "usage": totals, "cumulative": totals})


def compaction_line(messages: Iterable[Message]) -> bytes:
    """The row of a compaction: all messages of the new conversation, the summary first."""
    return _line({"type": "compaction", "messages": [_message(message) for message in messages if message.content]})


def summary_line(text: str) -> bytes:
    """The row of a summary of the session so far; the last one counts."""
    return _line({"type": "summary", "summary": text})


def rename_line(title: str) -> bytes:
    """The row of a session's name; the last one counts."""
    return _line({"type": "rename", "title": title})


def _line(row: Json) -> bytes:
    return orjson.dumps(row) + b"\n"


def _message(message: Message) -> Json:
    time = message.time or NO_TIME
    found: Json = {"role": message.role, "content": [_block(block) for block in message.content], "time": time}
    return {**found, "added_tool_names": message.added_tools} if message.added_tools else found


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
    """Valid JSON as it is. Other text, and JSON nested deeper than `ARGUMENTS_DEPTH`, becomes a JSON string: every
    reader can load that."""
    try:
        is_readable = not is_deeper(orjson.loads(args), ARGUMENTS_DEPTH)
    except orjson.JSONDecodeError:
        is_readable = False
    if not is_readable:
        return args.decode("utf-8", "replace")
    return orjson.Fragment(bytes(json_on_one_line(args)))


# --- from a file --------------------------------------------------------------------------------------------


class _Content(msgspec.Struct, frozen=True):
    """Any block."""

    text: str | None = ""
    mime_type: str | None = ""
    data: str | None = ""
    id: str | None = ""
    name: str | None = ""
    arguments: msgspec.Raw = msgspec.Raw(b"")
    call_id: str | None = ""
    content: tuple[_Content, ...] | None = ()
    is_error: bool | None = False
    reasoning_id: str | None = ""
    summary: str | None = ""
    encrypted_content: str | None = ""
    redacted: bool | None = False
    server: bool | None = False


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: tuple[_Content, ...] | None = ()
    time: str | None = ""
    added_tool_names: tuple[str, ...] | None = ()


class _Type(msgspec.Struct, frozen=True):
    type: str | None = ""


class _MessageRow(msgspec.Struct, frozen=True):
    message: _Message


class _CompactionRow(msgspec.Struct, frozen=True):
    messages: tuple[_Message, ...] | None


_type = msgspec.json.Decoder(_Type)
_message_row = msgspec.json.Decoder(_MessageRow)
_compaction_row = msgspec.json.Decoder(_CompactionRow)
_any = msgspec.json.Decoder(dict[str, Any])
_text = msgspec.json.Decoder(str)
MESSAGE = b'{"type":"message",'
"""The usual beginning of a message row: its type need not be decoded."""
LENIENT_LIMIT = 16 * 1024 * 1024
"""Maximum of a line that is mended, in bytes: mending takes many times its size in memory."""
_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _BadRowError(ValueError):
    pass


def read_row(line: bytes) -> Row:
    """Reads a line without its LF. Bytes that are not UTF-8 become U+FFFD, and a field with null, or with a value of
    another type, counts as missing: a line is lost only if it is no JSON object, or has no other field."""
    try:
        return _read_row(line)
    except _BadRowError as error:
        return Unreadable(str(error))
    except _ERRORS as error:
        reason = str(error) or type(error).__name__
    try:
        return _read_row(_mend(line)) if len(line) <= LENIENT_LIMIT else Unreadable(reason)
    except (ValueError, *_ERRORS):
        return Unreadable(reason)


def _read_row(line: bytes) -> Row:
    kind = "message" if line.startswith(MESSAGE) else _type.decode(line).type or ""
    match kind:
        case "message":
            return _read_message(_message_row.decode(line).message)
        case "usage":
            given = _any.decode(line).get("cumulative")
            if not isinstance(given, dict):
                raise _BadRowError("a usage row without totals")
            return _read_totals(given)
        case "meta":
            given = _any.decode(line).get("meta")
            if not isinstance(given, dict):
                raise _BadRowError("a meta row without fields")
            return msgspec.convert(_typed_fields(given, _META_FIELDS), Meta)
        case "rename":
            title = _any.decode(line).get("title")
            return Rename(title if isinstance(title, str) else "")
        case "summary":
            text = _any.decode(line).get("summary")
            return Summary(text if isinstance(text, str) else "")
        case "compaction":
            given = _compaction_row.decode(line).messages or ()
            return Compaction(tuple(_read_message(message) for message in given if message.role in ROLES))
        case other:
            return Other(other)


def _mend(line: bytes) -> bytes:
    """The line with fields of the right types only; a text as content becomes a block. Raises `ValueError` and
    `RecursionError`."""
    row = json.loads(line.decode("utf-8", "replace"))
    if not isinstance(row, dict):
        raise _BadRowError("not a JSON object")
    if "message" in row:
        row["message"] = _mend_message(row["message"])
    if isinstance(row.get("messages"), list):
        row["messages"] = [_mend_message(message) for message in row["messages"] if isinstance(message, dict)]
    text = json.dumps(row, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def _mend_message(given: Any) -> Json:
    if not isinstance(given, dict):
        raise _BadRowError("the message is not an object")
    content = given.get("content")
    if isinstance(content, str):
        content = [{"text": content}]
    found: Json = {"role": given.get("role"), "content": _mend_blocks(content)}
    if isinstance(given.get("time"), str):
        found["time"] = given["time"]
    return found


def _mend_blocks(given: Any) -> list[Json]:
    if not isinstance(given, list):
        return []
    blocks = []
    for block in given:
        if isinstance(block, dict):
            fit = _typed_fields(block, _CONTENT_FIELDS)
            if "arguments" in block:
                fit["arguments"] = block["arguments"]
            if "content" in block:
                fit["content"] = _mend_blocks(block["content"])
            blocks.append(fit)
    return blocks


def _typed_fields(given: Mapping[str, Any], types: Mapping[str, type]) -> Json:
    """The fields in `types` whose value has the right type."""
    return {name: value for name, kind in types.items() if type(value := given.get(name)) is kind}


def _types(struct: type[msgspec.Struct]) -> dict[str, type]:
    """The types of the plain fields, taken from their defaults."""
    fields = {field.name: type(field.default) for field in msgspec.structs.fields(struct)}
    return {name: kind for name, kind in fields.items() if kind in (str, int, bool)}


_META_FIELDS = _types(Meta)
_CONTENT_FIELDS = _types(_Content)


def _read_message(message: _Message) -> Message:
    if message.role not in ROLES:
        raise _BadRowError(f"there is no role {message.role[:40]!r}")
    content = tuple([block for part in message.content or () if (block := _read_block(part)) is not None])
    time = message.time if message.time != NO_TIME else ""
    return Message(message.role, content, time or "", message.added_tool_names or ())  # type: ignore[arg-type]


def _read_block(part: _Content) -> Block | None:
    """None for a block that no request may have: reasoning of another provider, a call that its provider carried out,
    and an empty text."""
    if part.reasoning_id or part.summary or part.encrypted_content:
        if part.reasoning_id or not part.encrypted_content:
            return None
        secret = part.encrypted_content
        return Thinking("", redacted=secret) if part.redacted else Thinking(part.summary or "", secret)
    if part.name and part.id:
        return None if part.server else ToolCall(part.id, part.name, _read_arguments(bytes(part.arguments)))
    if part.call_id:
        parts = tuple([_read_part(inner) for inner in part.content or ()])
        return ToolResult(part.call_id, parts, bool(part.is_error))
    if part.mime_type:
        return _read_image(part.mime_type, part.data or "")
    return Text(part.text) if part.text else None


def _read_part(part: _Content) -> Text | Image:
    if not part.mime_type:
        return Text(part.text or "")
    return _read_image(part.mime_type, part.data or "")


def _read_image(mime_type: str, data: str) -> Text | Image:
    """The image; a text instead if it is no base64, which no model takes."""
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return Text("[an image that cannot be read]")
    return Image(mime_type, data)


def _read_arguments(raw: bytes) -> bytes:
    """The arguments as the model wrote them. A JSON string holds a text that is no JSON."""
    if raw.startswith(b'"'):
        return _text.decode(raw).encode()
    return b"{}" if raw in (b"", b"null") else raw


def _read_totals(given: Mapping[str, Any]) -> Totals:
    """The totals. zot writes 0 for an unknown price, so a cost of 0 beside tokens counts as unknown, and 0 for
    reasoning that is not known."""
    counts: dict[str, Any] = {field: _count(given.get(name)) for field, name in TOKENS.items()}
    is_partial = given.get("is_partial") is True
    reasoning = _count(given.get("reasoning_tokens")) if given.get("reasoning_tokens_known") is True else None
    cost = given.get("cost_usd")
    is_known = isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < 1e15
    if not is_known or (not cost and any(counts.values())):
        cost = None if any(counts.values()) else 0
    return Totals(**counts, cost_usd=None if cost is None else float(cost), is_partial=is_partial, reasoning=reasoning)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else 0
