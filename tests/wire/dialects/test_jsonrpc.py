"""Messages of JSON-RPC are read leniently, and named by either end if they cannot be read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.dialects import jsonrpc
from wire.dialects.jsonrpc import Incoming, SeenMembers, Unreadable, number_of, peek
from wire.framing import PREFIX_KEPT


def test_a_message_has_its_parts_as_they_were_written():
    (message,) = jsonrpc.read(b'{"jsonrpc":"2.0","id": "7","method":"m","params":{"a": 1}}')
    assert isinstance(message, Incoming)
    assert (message.method, message.written_id, bytes(message.params)) == ("m", b'"7"', b'{"a": 1}')


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (b"7", 7), (b'"7"', 7), (b"7.0", 7), (b'"7.00"', 7), (b"7.5", None), (b"-7", None), (b'"x"', None), (b"", None),
        (b'""', None), (b"7e0", None), (b"9" * 30, None), (b'"7', 7), (b".0", None), (b"\xb2", None),
    ],
)  # fmt: skip
def test_the_number_of_an_id(written: bytes, number: int | None):
    assert number_of(written) == number


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":', b'}}', SeenMembers(b"7", "", True)),
        (b'{"result":{"a":', b'},"jsonrpc":"2.0","id":7}', SeenMembers(b"7", "", True)),
        (b'{"result":{"a":', b'}, "id" : "q" } \r', SeenMembers(b'"q"', "", True)),
        (b'{"result":"xxx', b'","id":7}', SeenMembers(b"7", "", True)),
        (b'{"id":7,"error":{', b"}}", SeenMembers(b"7", "", True)),
        (b'{"result":{"a":', b'"id":7}}', SeenMembers(b"", "", True)),
        (b'{"result":{"a":"', b',\\"id\\":7}"}', SeenMembers(b"", "", True)),
        (b'{"result":{"a":', b'},"id":{"a":7}}', SeenMembers(b"", "", True)),
        (b'{"id":7,"params":{', b"}}", SeenMembers(b"7", "", False)),
        (b'{"id":7,"method":"m","params":{', b"}}", SeenMembers(b"7", "m", False)),
        (b'{"params":{', b'},"method":"m","id":7}', SeenMembers(b"7", "m", False)),
        (b'{"id":7,"result":{', b'},"method":"m"}', SeenMembers(b"7", "m", False)),
        (b'{"id":7,"method":5,"result":{', b"}}", SeenMembers(b"7", "", False)),
        (b'{"id":07,"method":"m","params":{', b"}}", SeenMembers(b"", "m", False)),
        (b'{"id":"\\q","method":"m","params":{', b"}}", SeenMembers(b"", "m", False)),
        (b'{"id":07,"result":{', b"}}", SeenMembers(b"07", "", True)),
        (b"[", b'"id":7}]', SeenMembers()),
        (b"x", b',"id":7}', SeenMembers()),
        (b"", b"", SeenMembers()),
    ],
)  # fmt: skip
def test_a_message_is_named_by_its_ends(start: bytes, end: bytes, found: SeenMembers):
    assert peek(start, end) == found


TEXT = st.text(st.sampled_from('ab"\\{}[],:id7 \n'), max_size=12)
INNER = st.recursive(
    TEXT | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.just("id"), inner, max_size=3),
    max_leaves=8,
)


@given(INNER, st.integers(0, 10**6) | TEXT, st.booleans(), st.booleans(), st.sampled_from(["result", "error"]))
def test_the_ends_of_a_message_tell_its_id_or_nothing(
    result: object, id_: object, last: bool, spaces: bool, member: str
):
    message = {member: result, "jsonrpc": "2.0", "id": id_} if last else {"jsonrpc": "2.0", "id": id_, member: result}
    text = json.dumps(message, separators=None if spaces else (",", ":")).encode()
    for kept in (PREFIX_KEPT, 60, 30):
        found = peek(text[:kept], text[-kept:])
        assert found.id in (b"", json.dumps(id_).encode())
        assert found.method == ""
    found = peek(text[:PREFIX_KEPT], text[-PREFIX_KEPT:])
    assert (found.id, found.is_answer) == (json.dumps(id_).encode(), True)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_named(line: bytes):
    assert all(isinstance(message, Incoming | Unreadable) for message in jsonrpc.read(line))
    assert isinstance(peek(line, line), SeenMembers)


def test_a_batch_has_a_limit():
    *messages, rest = jsonrpc.read(b"[" + b",".join([b"{}"] * 1200) + b"]")
    assert len(messages) == jsonrpc.BATCH_LIMIT
    assert isinstance(rest, Unreadable)


def test_what_is_written_is_one_line_of_json():
    for line, members in (
        (jsonrpc.request(3, "m", b'{"a":1}'), {"id": 3, "method": "m", "params": {"a": 1}}),
        (jsonrpc.notification("m"), {"method": "m"}),
        (jsonrpc.notification("m", b"{}"), {"method": "m", "params": {}}),
        (jsonrpc.answer(b'"x"', b"{}"), {"id": "x", "result": {}}),
        (jsonrpc.refusal(b"5", -1, "no\n"), {"id": 5, "error": {"code": -1, "message": "no\n"}}),
    ):
        assert line.count(b"\n") == 1
        assert json.loads(line) == {"jsonrpc": "2.0", **members}


def test_no_end_of_a_message_can_be_divided_in_many_ways():
    """Each space more between the members would double the time, which is that of all extensions."""
    members = (b" " * 20).join([b'"a":1'] * 8)
    for end in (members + b"!}", members + b"}", b"[" + members + b" " * 200):
        assert isinstance(peek(b"{", end[-PREFIX_KEPT:]), SeenMembers)
    (bad,) = jsonrpc.read(b'{"x" ,' + members + b"!}")
    assert isinstance(bad, Unreadable)


def test_a_batch_of_nothing_but_commas_is_not_taken_apart():
    (bad,) = jsonrpc.read(b"[" + b"1," * jsonrpc.BATCH_COMMAS + b"1,1]")
    assert isinstance(bad, Unreadable)
    assert "too many parts" in bad.reason


@pytest.mark.parametrize("version", [b'"1.0"', b"2", b"null", b"[2.0]"])
def test_only_the_text_2_0_is_the_version(version: bytes):
    (message,) = jsonrpc.read(b'{"jsonrpc":%b,"id":1}' % version)
    assert isinstance(message, Incoming)
    assert not message.names_its_version
