"""Records survive the stream unchanged, with zot's members in zot's order."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from tests.support.any_message import any_of, plain
from wire import events
from wire.events import TextContent, ToolCallContent, decode, encode
from wire.exit_codes import EXIT_CODES, Status
from wire.lenient_json import raw_json

RECORDS = events.AnyRecord.__args__
KEYS = {
    "user_message": ["content", "time"],
    "turn_start": ["step"],
    "assistant_start": [],
    "text_delta": ["delta"],
    "tool_use_start": ["id", "name"],
    "tool_use_args": ["id", "delta"],
    "tool_use_end": ["id"],
    "usage": ["input", "output", "cache_read", "cache_write", "cost_usd", "cumulative"],
    "assistant_message": ["content", "time"],
    "tool_call": ["id", "name", "args"],
    "tool_progress": ["id", "text"],
    "tool_result": ["id", "is_error", "content"],
    "turn_end": ["stop", "error"],
    "error": ["message"],
    "done": [],
}
"""zot's records with all their members, in the order in which it writes them."""
OURS = {
    "user_message": ["extension"], "tool_call": ["extension", "origin_extension", "origin"],
    "tool_result": ["extension", "origin_extension", "structured_content", "origin"],
    "usage": ["is_partial", "reasoning", "auxiliary"],
}  # fmt: skip
"""Members of zot's records that zot, or the zot of May 2026, does not have; they come last."""


@given(st.data())
@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__struct_config__.tag)
def test_decoding_gives_back_what_was_encoded(cls: type, data: st.DataObject):
    record = data.draw(any_of(cls))
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    back = decode(line)
    assert type(back) is cls
    assert plain(back) == plain(record) == json.loads(line)


@given(st.data())
@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__struct_config__.tag)
def test_every_member_is_written_in_a_fixed_order(cls: type, data: st.DataObject):
    record = data.draw(any_of(cls))
    tag = cls.__struct_config__.tag
    written = list(plain(record))
    wanted = ["type", *KEYS.get(tag, [field.name for field in msgspec.structs.fields(cls)]), *OURS.get(tag, ())]
    wanted = [name for name in wanted if name == "type" or getattr(record, name) is not msgspec.UNSET]
    if tag == "usage" and record.cost_usd is None:
        wanted.remove("cost_usd")
    if tag == "usage":
        wanted = [name for name in wanted if name not in ("is_partial", "auxiliary") or getattr(record, name)]
    assert written == wanted


@pytest.mark.parametrize("cost", [{}, {"cost_usd": None}, {"cost_usd": 0.0}, {"cost_usd": 0.25}])
def test_an_unknown_cost_is_absent_and_read_as_null_too(cost):
    counts = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}
    used = decode(json.dumps({"type": "usage", **counts, **cost, "cumulative": {**counts, **cost}}).encode())
    assert used.cost_usd == used.cumulative.cost_usd == cost.get("cost_usd")
    known = {name: dollars for name, dollars in cost.items() if dollars is not None}
    written = {**counts, **known, "reasoning": None}
    assert plain(used) == {"type": "usage", **written, "cumulative": written}


def test_reasoning_is_null_as_long_as_it_is_unknown_and_auxiliary_absent_as_long_as_it_is_false():
    totals = events.Totals(1, 2, 3, 4, 0.5)
    usage = events.Usage(input=1, output=2, cache_read=3, cache_write=4, cumulative=totals)
    assert plain(usage)["reasoning"] is plain(usage)["cumulative"]["reasoning"] is None
    assert "auxiliary" not in plain(usage)
    assert plain(msgspec.structs.replace(usage, reasoning=0, auxiliary=True)) == {
        **plain(usage), "reasoning": 0, "auxiliary": True,
    }  # fmt: skip


def test_all_of_zots_records_are_there():
    assert set(KEYS) <= {cls.__struct_config__.tag for cls in RECORDS}


def test_content_has_zots_members():
    content = (
        TextContent("hi"),
        events.ImageContent("image/png", 12),
        ToolCallContent("t", "read", Raw(b"{}")),
        events.ToolResultContent("t", False, (TextContent("x"),)),
    )
    assert plain(events.UserMessage(content, "now"))["content"] == [
        {"type": "text", "text": "hi"},
        {"type": "image", "mime_type": "image/png", "bytes": 12},
        {"type": "tool_call", "id": "t", "name": "read", "args": {}},
        {"type": "tool_result", "call_id": "t", "is_error": False, "content": [{"type": "text", "text": "x"}]},
    ]


def test_unknown_members_are_ignored_and_unknown_records_are_an_error():
    assert decode(b'{"type":"done","new":1}') == events.Done()
    with pytest.raises(msgspec.DecodeError, match=r"Invalid value 'fanfare' - at `\$.type`"):
        decode(b'{"type":"fanfare"}')
    with pytest.raises(msgspec.DecodeError, match=r"`\$.step`"):
        decode(b'{"type":"turn_start","step":"one"}')


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        (b'{"a": 1}', b'{"a": 1}'),
        (b'{\n"a":\r\n1}', b'{ "a":  1}'),
        (b"{bad", b"null"),
        (b"", b"null"),
        (b"\xff", b"null"),
        (b"[" * 50_000, b"null"),
    ]
    + [
        (b"[" * levels + b"]" * levels, raw or b"[" * levels + b"]" * levels)
        for levels, raw in ((100, b""), (101, b"null"))
    ],
    ids=["json", "lines", "cut", "empty", "bytes", "deep and cut", "100 levels", "101 levels"],
)
def test_arguments_are_json_on_one_line_or_null(text: bytes, raw: bytes):
    assert bytes(raw_json(text)) == raw


def test_every_status_has_an_exit_code_of_its_own_with_a_meaning():
    assert set(EXIT_CODES) == set(Status)
    codes = [status.exit_code for status in Status]
    assert len(set(codes)) == len(codes)
    assert (Status.OK.exit_code, Status.ERROR.exit_code, Status.USAGE.exit_code) == (0, 1, 2)
    assert Status.INTERRUPTED.exit_code == 130
    assert all(meaning for _, meaning in EXIT_CODES.values())
