"""Every line of a client is a request or a refusal that says what is wrong."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.rpc import requests
from wire.rpc.request_lines import Refusal, decode
from wire.rpc.requests import COMMANDS
from wire.rpc.responses import Response, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MEMBERS = st.dictionaries(
    st.sampled_from(["id", "message", "images", "prompt", "model", "name", "args", "messages", "token", "full", "key"]),
    JSON,
)


def echoed(line: bytes) -> bytes:
    """The response to a line, as far as its id goes."""
    found = decode(line)
    return encode(Response(id=found.id, command="", success=True))


@pytest.mark.parametrize(
    "written", ["7", "-1.50e3", "123456789012345678901234567890", "1e400", r'"a\u00e9\/"', '""', "0"]
)
def test_an_id_is_echoed_byte_for_byte(written):
    assert f'"id":{written},'.encode() in echoed(f'{{"type":"ping", "id" : {written} }}'.encode())
    assert f'"id":{written},'.encode() in echoed(f'{{"id":{written},"type":"unknown"}}'.encode())


@pytest.mark.parametrize("written", ["[1]", "{}", "true", "false"])
def test_an_id_of_another_type_is_refused_and_not_echoed(written):
    line = f'{{"type":"ping","id":{written}}}'.encode()
    assert decode(line) == Refusal("ping", msgspec.UNSET, "id: it must be a string or a number")
    assert b'"id"' not in echoed(line)


def test_null_and_no_id_are_the_same():
    assert b'"id"' not in echoed(b'{"type":"ping","id":null}') + echoed(b'{"type":"ping"}')


@pytest.mark.parametrize(
    ("line", "command", "error"),
    [
        (b"hello", "", "malformed json: invalid character (byte 0)"),
        (b'{"type":"pi', "", "malformed json: Input data was truncated"),
        (b"[]", "", "malformed json: Expected `object`, got `array`"),
        (b'"ping"', "", "malformed json: Expected `object`, got `str`"),
        (b"[" * 50_000, "", "malformed json: Expected `object`, got `array`"),
        (b'{"type":"ping","x":' + b"[" * 50_000, "", "malformed json: nested too deeply"),
        (b"{}", "", 'unknown command: a request needs a type, such as "ping"'),
        (b"null", "", "malformed json: Expected `object`, got `null`"),
        (b'{"type":7}', "", 'unknown command: a request needs a type, such as "ping"'),
        (b'{"type":"getstate"}', "getstate", "unknown command 'getstate'; did you mean 'get_state'?"),
        (b'{"type":"prompt","message":4}', "prompt", "message: expected str | null, got int"),
        (b'{"type":"prompt","images":[{"data":""}]}', "prompt", "images[0].mime_type is required"),
        (b'{"type":"set_model"}', "set_model", "model is required"),
        (b'{"type":"set_messages","messages":[{"role":"god","content":[]}]}', "set_messages", "messages[0].role"),
        (b'{"type":"panel_resize","extension":"e","panel_id":"p","width":1.5}', "panel_resize", "width: expected int"),
    ],
    ids=lambda value: value[:30] if isinstance(value, bytes) else "",
)
def test_what_is_wrong_is_said(line, command, error):
    found = decode(line)
    assert isinstance(found, Refusal)
    assert (found.command, found.error[: len(error)]) == (command, error)


def test_unknown_members_are_ignored_and_null_is_absent():
    assert decode(b'{"type":"ping","new":{"a":[1]}}') == requests.Ping()
    assert decode(b'{"type":"prompt","message":"go","images":null}') == requests.Prompt(message="go")


def test_invalid_unicode_becomes_a_replacement_character():
    assert decode(b'{"type":"prompt","message":"a\xff"}') == requests.Prompt(message="a\ufffd")
    assert decode(rb'{"type":"prompt","message":"\ud83d"}') == requests.Prompt(message="\ufffd")
    assert b'"id":"a\xef\xbf\xbd"' in echoed(b'{"type":"ping","id":"a\xff"}')


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_line_has_an_answer_on_one_line(line):
    assert echoed(line.replace(b"\n", b" ")).count(b"\n") == 1


@given(st.sampled_from(sorted(COMMANDS)), MEMBERS)
def test_any_members_have_an_answer(command, members):
    found = decode(json.dumps({"type": command, **members}).encode())
    if isinstance(found, Refusal):
        assert found.command == command
        assert found.error.partition(":")[0].partition("[")[0].partition(" ")[0] in {*members, *_fields(command)}
    else:
        assert isinstance(found, COMMANDS[command])


def _fields(command):
    return {field.name for field in msgspec.structs.fields(COMMANDS[command])}
