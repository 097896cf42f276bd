"""Messages of a server that are no answers: requests, batches, log messages and other notifications."""

from __future__ import annotations

import pytest

from tests.support.mcp_dialect_talk import MODERN, Talk, opened, text_result
from wire import frames
from wire.dialects.base import Remarked


@pytest.mark.parametrize(
    "written_id", [b"0", b"7", b'"7"', b'"a b"', b"-1", b"12345678901234567890123", b"1.50", b"1e3"]
)
@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("ping", b'"result":{}'),
        ("elicitation/create", b'"result":{"action":"cancel"}'),
        ("roots/list", b'"error":{"code":-32601,"message":"Method not found: roots/list"}'),
        ("sampling/createMessage", b'"error":{"code":-32601,"message":"Method not found: sampling/createMessage"}'),
    ],
)
def test_what_a_server_asks_is_answered_at_once_with_its_id_as_it_was_written(
    method: str, answer: bytes, written_id: bytes
):
    for talk in (Talk(), opened()):
        line = b'{"method":"%b","id":%b,"params":{}}' % (method.encode(), written_id)
        messages, reply = talk.session.receive(line, 0.0)
        assert reply == b'{"jsonrpc":"2.0","id":%b,%b}\n' % (written_id, answer)
        assert all(isinstance(message, Remarked) for message in messages)
        assert len(messages) == (method != "ping")


@pytest.mark.parametrize("written_id", [b"null", b"{}", b"[1]", b"true", b'"%b"' % (b"x" * 300)])
def test_a_request_without_a_usable_id_gets_no_answer(written_id: bytes):
    _, reply = opened().session.receive(b'{"method":"ping","id":%b}' % written_id, 0.0)
    assert reply == b""


def test_a_batch_is_taken_apart():
    talk = opened()
    sent = talk.call("7")
    batch = [{"id": number, "method": "ping"} for number in range(3)]
    heard = talk.hear([*batch, 5, {"id": sent["id"], "result": text_result()}, []])
    assert [type(message) for message in heard] == [frames.Malformed, frames.ToolResult, frames.Malformed]
    assert [each["id"] for each in talk.sent[-3:]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("params", "log"),
    [
        ({"level": "info", "data": "hi"}, ("hi", "info", {})),
        ({"level": "notice", "data": "hi"}, ("hi", "info", {})),
        ({"level": "warning", "data": 5}, ("5", "warn", {})),
        ({"level": "critical", "data": ["a"], "logger": "db"}, ('["a"]', "error", {"logger": '"db"'})),
        ({"level": "emergency", "data": None}, ("null", "error", {})),
        ({"level": "debug", "data": {"msg": "m", "n": 1, "x": None}}, ("m", "debug", {"n": "1"})),
        ({"level": 5, "data": {"message": 5}}, ('{"message": 5}', "info", {})),
        ({}, ("", "info", {})),
    ],
)
def test_log_messages_of_all_kinds_reach_the_log(params: dict, log: tuple):
    (said,) = opened().hear({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    fields = {name: bytes(value).decode() for name, value in (said.fields or {}).items()}
    assert (said.message, said.level, fields) == log


@pytest.mark.parametrize("params", [None, 5, "x", []])
def test_a_log_message_that_is_none_is_remarked(params: object):
    assert isinstance(opened().hear({"method": "notifications/message", "params": params})[0], Remarked)


def test_other_notifications_are_ignored():
    talk = opened(modern=True)
    assert talk.hear({"method": "notifications/subscriptions/acknowledged", "params": {}}) == []
    (remarked,) = talk.hear({"method": "notifications/new", "params": {}})
    assert isinstance(remarked, Remarked)
    assert "'notifications/new', which zot does not know" in remarked.text
    assert talk.asked("tools/list")["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN
