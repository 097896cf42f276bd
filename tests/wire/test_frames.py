"""Frames of both directions survive the pipe unchanged, and no line makes the decoder raise."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON, any_of, plain
from wire import frames
from wire.frames import Malformed, UnknownFrame, decode_from_extension, decode_from_host, encode

DIRECTIONS = {
    **{("extension", cls): decode_from_extension for cls in frames.FromExtension.__args__},
    **{("host", cls): decode_from_host for cls in frames.FromHost.__args__},
}
REQUIRED = {
    (side, cls, field.name) for side, cls in DIRECTIONS for field in msgspec.structs.fields(cls) if field.required
}


SAMPLES: dict[object, object] = {int: 1, frames.Panel: {"id": "x"}}
"""A value of each type that a required field has, besides texts."""


def of(**frame: object) -> bytes:
    return json.dumps(frame).encode()


@given(st.data())
@pytest.mark.parametrize(("side", "cls"), DIRECTIONS, ids=lambda value: getattr(value, "__name__", value))
def test_decoding_gives_back_what_was_encoded(side: str, cls: type, data: st.DataObject):
    frame = data.draw(any_of(cls))
    line = encode(frame)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    back = DIRECTIONS[side, cls](line)
    assert type(back) is cls
    assert plain(back) == plain(frame)
    assert next(iter(plain(back))) == "type"


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_decoding_never_raises(line: bytes):
    for decode in (decode_from_extension, decode_from_host):
        assert isinstance(decode(line), msgspec.Struct)


@given(
    st.sampled_from(sorted(frames.EXTENSION_TYPES)),
    st.dictionaries(
        st.sampled_from(
            ["id", "name", "schema", "events", "content", "block", "level", "message", "panel_id", "lines", "extra"]
        ),
        JSON,
    ),
)
def test_fields_of_any_type_give_a_frame_or_a_reason(kind: str, fields: dict):
    frame = decode_from_extension(of(type=kind, **fields))
    assert not isinstance(frame, UnknownFrame)
    if isinstance(frame, Malformed):
        assert frame.type == kind
        assert frame.reason.startswith(f"bad {kind} frame: ")
        assert frame.id == (fields.get("id") if isinstance(fields.get("id"), str) else None)


@pytest.mark.parametrize(("side", "cls"), DIRECTIONS, ids=lambda value: getattr(value, "__name__", value))
def test_optional_fields_may_be_null_or_missing_and_unknown_ones_are_left_out(side: str, cls: type):
    fields = msgspec.structs.fields(cls)
    required = {field.name: SAMPLES.get(field.type, "x") for field in fields if field.required}
    may_be_null = [field for field in fields if not isinstance(field.default, msgspec.UnsetType)]
    optional = [field.name for field in may_be_null if not field.required]
    tag = cls.__struct_config__.tag
    decode = DIRECTIONS[side, cls]
    bare = decode(of(type=tag, **required))
    nulls = decode(of(type=tag, **required, **dict.fromkeys(optional), brand_new={"a": [1]}))
    assert type(bare) is type(nulls) is cls
    assert {k: v for k, v in plain(nulls).items() if v is not None} == plain(bare)


@pytest.mark.parametrize(("side", "cls", "name"), sorted(REQUIRED, key=str), ids=str)
@pytest.mark.parametrize("wrong", [None, [], {}, "missing"], ids=str)
def test_a_required_field_that_is_wrong_is_named(side: str, cls: type, name: str, wrong: object):
    fields = {field.name: SAMPLES.get(field.type, "x") for field in msgspec.structs.fields(cls) if field.required}
    if wrong == "missing":
        del fields[name]
    else:
        fields[name] = wrong
    frame = DIRECTIONS[side, cls](of(type=cls.__struct_config__.tag, **fields))
    if cls is frames.ToolCall and name == "args" and wrong != "missing":
        assert isinstance(frame, frames.ToolCall), "args may be any JSON"
    else:
        assert isinstance(frame, Malformed)
        assert f"`{name}`" in frame.reason or f"`$.{name}`" in frame.reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not a JSON object"),
        (b"npm WARN deprecated", "not a JSON object"),
        (b"\x1b[31mred", "not a JSON object"),
        (b"[1,2]", "not a JSON object"),
        (b"42", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"type":"ready"', "not a JSON object: Input data was truncated"),
        (b"{}", "the frame has no type"),
        (b'{"type":null}', "the frame has no type"),
        (b'{"type":5}', "the frame has no type"),
        (b'{"type":"ready","x":' + b"[" * 50_000, "not a JSON object: nested too deeply"),
        (b'{"type":"hello","name":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "not a JSON object: nested too deeply"),
    ],
    ids=lambda value: str(value[:30]),
)
def test_a_line_that_is_no_frame_has_a_reason(line: bytes, reason: str):
    assert decode_from_extension(line) == Malformed(reason)


def test_an_unknown_type_is_a_value():
    assert decode_from_extension(of(type="metrics", id="1")) == UnknownFrame("metrics")
    assert decode_from_extension(of(type="hello_ack")) == UnknownFrame("hello_ack"), "that is the other direction"


def test_rewritten_arguments_arrive_whatever_they_are():
    for value in ({"path": "x"}, [], "text", 5, None):
        frame = decode_from_extension(of(type="event_intercept_response", id="1", modified_args=value))
        assert isinstance(frame, frames.InterceptResponse)
        assert json.loads(bytes(frame.modified_args)) == value


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b"caf\xe9", "caf\ufffd"),
        (b"cut \\ud83d", "cut \ufffd"),
        (b"\\\\ud83d \\udc00", "\\ud83d \ufffd"),
        (b"\\ud83d\\ude00", "😀"),
    ],
)
def test_text_that_is_not_unicode_does_not_cost_the_frame(text: bytes, read: str):
    frame = decode_from_extension(b'{"type":"tool_result","id":"1","content":[{"type":"text","text":"' + text + b'"}]}')
    assert isinstance(frame, frames.ToolResult)
    assert frame.content[0].text == read


def test_more_content_blocks_than_anyone_can_use_are_an_error():
    blocks = [{"type": "text"}] * (frames.BLOCKS_LIMIT + 1)
    frame = decode_from_extension(of(type="tool_result", id="1", content=blocks))
    assert isinstance(frame, Malformed)
    assert (frame.id, frame.reason) == (
        "1",
        "bad tool_result frame: Expected `array` of length <= 10000 - at `$.content`",
    )
    assert isinstance(decode_from_extension(of(type="tool_result", id="1", content=blocks[1:])), frames.ToolResult)
