"""Answers of a session, line by line: the sessions that begin with `initialize`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.mcp_served_session import ECHO, INITIALIZE, OFFER, PLAN, WIPE, Client, text_result
from wire import frames
from wire.dialects.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from wire.dialects.mcp.protocol import LEGACY
from wire.framing import Oversize
from wire.mcp_server.offer import Abandon, Call, Invoke, Offer, Say
from wire.mcp_server.requests import Era
from wire.mcp_server.session import REQUESTS_LIMIT


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def legacy(client: Client) -> Client:
    client.ask("initialize", INITIALIZE, 0)
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return client


@pytest.mark.parametrize("asked", [*LEGACY, "2099-01-01", "1.0", ""])
def test_initialize_answers_the_clients_version_or_our_newest(client: Client, asked: str):
    result = client.ask("initialize", {**INITIALIZE, "protocolVersion": asked})
    assert result == {
        "protocolVersion": asked if asked in LEGACY else "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "logging": {}},
        "serverInfo": {"name": "zot", "title": "zot extensions", "version": "9.9"},
        "instructions": "what it is",
    }
    assert client.session.era is Era.LEGACY


def test_before_initialize_only_ping_is_answered(client: Client):
    assert client.ask("ping") == {}
    for method in ("tools/list", "tools/call", "logging/setLevel", "what/ever"):
        refused = client.ask(method, {})
        assert (refused["code"], "initialize" in refused["message"]) == (INVALID_REQUEST, True)
    assert client.session.era is Era.OPEN
    assert client.ask("initialize", INITIALIZE)["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("id_", [0, 7, -3, 2**53 + 1, "", "7", "a b", "\u2028", 1.5])
def test_ids_come_back_as_they_were_written(legacy: Client, id_: Any):
    assert legacy.ask("ping", None, id_) == {}


def test_an_id_keeps_its_very_text(legacy: Client):
    (action,) = legacy.session.receive(b'{"id": 1.50e2, "method": "ping", "jsonrpc": "2.0"}')
    assert isinstance(action, Say)
    assert action.line == b'{"jsonrpc":"2.0","id":1.50e2,"result":{}}\n'


def test_the_lists_have_one_page_whatever_the_cursor(legacy: Client):
    tools = [
        {
            "name": "echo", "description": "Returns its text.", "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "wipe", "description": "Wipes.", "inputSchema": {"type": "object"},
            "annotations": {"idempotentHint": True},
        },
    ]  # fmt: skip
    assert legacy.ask("tools/list") == {"tools": tools}
    assert legacy.ask("tools/list", {"cursor": "7"}) == {"tools": tools}
    argument = {"name": "arguments", "description": "The text after /plan", "required": False}
    assert legacy.ask("prompts/list", {"cursor": None}) == {
        "prompts": [{"name": "plan", "description": "Plans.", "arguments": [argument]}]
    }


@pytest.mark.parametrize(
    ("given", "args"),
    [({"arguments": {"a": 1}}, b'{"a": 1}'), ({}, b"{}"), ({"arguments": None}, b"{}"), ({"arguments": {}}, b"{}")],
)
def test_a_call_and_its_result(legacy: Client, given: dict[str, Any], args: bytes):
    key = legacy.begin("tools/call", {"name": "echo", **given}, "c")
    assert legacy.actions == [Call(key, "echo", args)]
    assert not legacy.session.is_idle
    (said,) = legacy.take(legacy.session.called(key, text_result("hi", is_error=True)))
    assert said == {
        "jsonrpc": "2.0", "id": "c", "result": {"content": [{"type": "text", "text": "hi"}], "isError": True},
    }  # fmt: skip
    assert legacy.session.is_idle
    assert legacy.session.called(key, text_result("again")) == []


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "echo", "arguments": [1]}, "must be an object"),
        ({"name": "echo", "arguments": "x"}, "must be an object"),
        ({"arguments": {}}, "name"),
        ({"name": 7}, "name"),
        ([], "object"),
        ("x", "object"),
    ],
)
def test_parameters_that_do_not_fit(legacy: Client, params: Any, words: str):
    error = legacy.ask("tools/call", params)
    assert error["code"] == INVALID_PARAMS
    assert words in error["message"]
    assert legacy.actions == []


@pytest.mark.parametrize("method", ["resources/list", "server/discover", "subscriptions/listen", "x", ""])
def test_an_unknown_method(legacy: Client, method: str):
    assert legacy.ask(method)["code"] == METHOD_NOT_FOUND


def test_a_request_with_a_version_of_its_own_does_not_fit_a_session(legacy: Client):
    assert legacy.modern("tools/list")["code"] == INVALID_REQUEST


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", PARSE_ERROR),
        (b"hello", PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', PARSE_ERROR),
        (b"[", PARSE_ERROR),
        (b"7", INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b"[]", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"id":null,"method":"ping"}', INVALID_REQUEST),
        (b'{"id":true,"method":"ping"}', INVALID_REQUEST),
        (b'{"id":{},"method":"ping"}', INVALID_REQUEST),
        (b"[" * 100_000, PARSE_ERROR),
    ],
)
def test_what_is_no_message(legacy: Client, line: bytes, code: int):
    (said,) = legacy.send(line)
    assert (said["id"], said["error"]["code"]) == (None, code)


def test_a_request_whose_method_is_no_string_gets_its_id_back(legacy: Client):
    (said,) = legacy.send({"jsonrpc": "2.0", "id": 3, "method": 7})
    assert (said["id"], said["error"]["code"]) == (3, INVALID_REQUEST)


@pytest.mark.parametrize("line", [b"", b"  \r", b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"method":"x"}'])
def test_blank_lines_answers_and_unknown_notifications_are_passed_over(legacy: Client, line: bytes):
    assert legacy.send(line) == []


def test_a_batch_is_taken_apart(legacy: Client):
    batch = [{"id": 1, "method": "ping"}, 7, {"method": "notifications/x"}, {"id": 2, "method": "tools/list"}]
    said = legacy.send(b"\xef\xbb\xbf" + json.dumps(batch).encode() + b"\r")
    assert [each["id"] for each in said] == [1, None, 2]


def test_characters_that_are_no_unicode_are_repaired(legacy: Client):
    legacy.send(rb'{"id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\ud83d"}}}')
    (call,) = legacy.actions
    assert isinstance(call, Call)
    assert json.loads(call.args) == {"text": "\ufffd"}


def test_a_line_that_is_too_long_is_answered_with_its_id(legacy: Client):
    line = Oversize(20_000_000, b'{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"e', 16_000_000)
    (said,) = legacy.take(legacy.session.receive_oversize(line))
    assert (said["id"], said["error"]["code"]) == ("big", INVALID_REQUEST)
    assert "20000000 bytes" in said["error"]["message"]


def test_progress_only_for_who_wants_it(legacy: Client):
    plain = legacy.begin("tools/call", {"name": "echo"}, 1)
    wants = legacy.begin("tools/call", {"name": "echo", "_meta": {"progressToken": "t"}}, 2)
    assert legacy.session.progressed(plain, "half") == []
    said = legacy.take(legacy.session.progressed(wants, "half") + legacy.session.progressed(wants, "done"))
    assert [each["method"] for each in said] == ["notifications/progress"] * 2
    assert [each["params"] for each in said] == [
        {"progressToken": "t", "progress": 1, "message": "half"},
        {"progressToken": "t", "progress": 2, "message": "done"},
    ]
    legacy.session.called(wants, text_result("x"))
    assert legacy.session.progressed(wants, "late") == []


@pytest.mark.parametrize("number", [7, 7.0])
def test_a_cancelled_call_is_abandoned_and_never_answered(legacy: Client, number: Any):
    key = legacy.begin("tools/call", {"name": "echo"}, 7)
    legacy.send({"method": "notifications/cancelled", "params": {"requestId": number, "reason": "enough"}})
    assert legacy.actions[-1] == Abandon(key, "the client has cancelled it: enough")
    assert legacy.session.is_idle
    assert legacy.session.called(key, text_result("late")) == []
    assert legacy.ask("ping", id_=7) == {}


@pytest.mark.parametrize("params", [{}, {"requestId": 99}, {"requestId": "7"}, {"requestId": None}, [], None])
def test_a_cancel_of_nothing_does_nothing(legacy: Client, params: Any):
    legacy.begin("tools/call", {"name": "echo"}, 7)
    legacy.send({"method": "notifications/cancelled", "params": params})
    assert len(legacy.actions) == 1
    assert not legacy.session.is_idle


def test_an_id_that_is_still_under_way_is_refused(legacy: Client):
    legacy.begin("tools/call", {"name": "echo"}, 7)
    assert "under way" in legacy.ask("tools/list", {}, 7)["message"]


def test_only_so_many_requests_at_a_time(legacy: Client):
    for number in range(REQUESTS_LIMIT):
        legacy.begin("tools/call", {"name": "echo"}, number)
    assert legacy.ask("tools/call", {"name": "echo"}, "more")["code"] == INTERNAL_ERROR
    assert legacy.ask("ping", id_="p") == {}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (frames.CommandResponse("x", "prompt", prompt="ask this"), "ask this"),
        (frames.CommandResponse("x", "insert", insert="edit this"), "edit this"),
        (frames.CommandResponse("x", "display", display="see this"), "see this"),
        (frames.CommandResponse("x", "open_panel", open_panel=frames.Panel("p", "Panel", ["one"])), "Panel\none"),
        (frames.CommandResponse("x", "noop"), "(the command /plan has run, and shows nothing)"),
        (frames.CommandResponse("x", "dance"), "(the command /plan has run, and shows nothing)"),
    ],
)
def test_a_command_is_a_prompt(legacy: Client, answer: frames.CommandResponse, text: str):
    key = legacy.begin("prompts/get", {"name": "plan", "arguments": {"arguments": "a trip"}})
    assert legacy.actions == [Invoke(key, "plan", "a trip")]
    (said,) = legacy.take(legacy.session.invoked(key, answer))
    content = {"type": "text", "text": text}
    assert said["result"] == {"description": "Plans.", "messages": [{"role": "user", "content": content}]}


def test_a_prompt_is_found_in_any_case(legacy: Client):
    key = legacy.begin("prompts/get", {"name": "PLAN"})
    assert legacy.actions == [Invoke(key, "plan", "")]
    (said,) = legacy.take(legacy.session.invoked(key, frames.CommandResponse("x", "noop")))
    assert said["result"]["description"] == "Plans."


def test_a_command_that_fails(legacy: Client):
    key = legacy.begin("prompts/get", {"name": "plan"})
    (said,) = legacy.take(legacy.session.invoked(key, frames.CommandResponse("x", error="it cannot")))
    assert said["error"] == {"code": INTERNAL_ERROR, "message": "/plan: it cannot"}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "plam"}, "'plan'"),
        ({"name": "plan", "arguments": {"city": "Rome"}}, "'city'"),
        ({"name": "plan", "arguments": {"arguments": 7}}, "str"),
    ],
)
def test_a_prompt_that_cannot_be_had(legacy: Client, params: Any, words: str):
    error = legacy.ask("prompts/get", params)
    assert error["code"] == INVALID_PARAMS
    assert words in error["message"]


def test_log_messages_by_level(legacy: Client):
    def logged(level: str) -> list[Any]:
        return legacy.take(legacy.session.logged(level, "echo", "said"))

    assert (logged("info"), len(logged("warning"))) == ([], 1)
    assert legacy.ask("logging/setLevel", {"level": "debug"}) == {}
    (said,) = logged("debug")
    assert said["params"] == {"level": "debug", "logger": "echo", "data": "said"}
    assert legacy.ask("logging/setLevel", {"level": "emergency"}) == {}
    assert logged("error") == []
    assert legacy.ask("logging/setLevel", {"level": "loud"})["code"] == INVALID_PARAMS
    assert Client().session.logged("error", "echo", "nobody has said initialize") == []


# --- what extensions offer --------------------------------------------------------------------------------------


def test_requests_about_tools_wait_for_the_first_offer():
    client = Client(offer=None)
    client.ask("initialize", INITIALIZE)
    for number, (method, params) in enumerate(
        [("tools/list", {}), ("prompts/list", {}), ("tools/call", {"name": "echo"}), ("prompts/get", {"name": "no"})]
    ):
        client.begin(method, params, number)
    assert not client.session.is_idle
    client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
    said = client.take(client.session.offered(OFFER))
    assert [each["id"] for each in said] == [0, 3]
    assert [type(action) for action in client.actions] == [Call]


def test_a_client_is_told_of_changes_to_lists_that_it_knows(legacy: Client):
    more = Offer((ECHO,), (PLAN,))
    assert legacy.take(legacy.session.offered(more)) == []
    legacy.ask("tools/list")
    assert legacy.take(legacy.session.offered(more)) == [], "nothing has changed"
    said = legacy.take(legacy.session.offered(Offer((ECHO, WIPE), ())))
    assert said == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]
    legacy.ask("prompts/list")
    said = legacy.take(legacy.session.offered(OFFER))
    assert said == [{"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}]


def test_the_end_answers_all_that_is_under_way():
    client = Client(offer=None)
    client.ask("initialize", INITIALIZE)
    client.begin("tools/list", {}, "waits")
    (said,) = client.take(client.session.end("because"))
    assert said["error"]["message"] == "because"
    client.take(client.session.offered(OFFER))
    client.begin("tools/call", {"name": "echo"}, "call")
    client.begin("prompts/get", {"name": "plan"}, "prompt")
    call, prompt = client.take(client.session.end("because"))
    assert (call["id"], call["result"]["isError"], call["result"]["content"][0]["text"]) == ("call", True, "because")
    assert (prompt["id"], prompt["error"]["message"]) == ("prompt", "because")
    assert client.session.end("because") == []


@pytest.mark.parametrize(
    ("prefix", "suffix", "said"),
    [
        (b'{"method":"tools/call","params":{"name":"e', b'xx"},"jsonrpc":"2.0","id":7}', 7),
        (b'{"method":"tools/call","params":{"name":"e', b'xx"},"id":"last"}', "last"),
        (b'{"method":"tools/call","params":{"name":"e', b'xx","id":3}}', None),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x', b'x"}}', ...),
        (b'{"jsonrpc":"2.0","id":1,"result":{"content":"x', b'x"}}', ...),
    ],
)
def test_a_line_that_is_too_long_is_named_from_either_end(legacy: Client, prefix: bytes, suffix: bytes, said: Any):
    answers = legacy.take(legacy.session.receive_oversize(Oversize(20_000_000, prefix, 16_000_000, suffix)))
    assert [each["id"] for each in answers] == ([] if said is ... else [said])


def test_instructions_wait_for_servers_that_may_add_to_them():
    client = Client(None)
    client.is_described = False
    assert client.send({"id": 1, "method": "initialize", "params": INITIALIZE}) == []
    assert client.send({"id": 1, "method": "initialize", "params": INITIALIZE})[0]["error"]["code"] == -32600
    assert client.send({"id": 2, "method": "tools/list"}) == []
    assert client.send({"id": 3, "method": "ping"})[0]["result"] == {}
    first, second = client.take(client.session.offered(OFFER))
    assert (first["id"], first["result"]["instructions"], second["id"]) == (1, "what it is", 2)
    assert "result" in client.send({"id": 4, "method": "initialize", "params": INITIALIZE})[0]


def test_a_server_that_ends_before_it_is_described_says_so():
    client = Client(None)
    client.is_described = False
    client.send({"id": 1, "method": "initialize", "params": INITIALIZE})
    (said,) = client.take(client.session.end("the server is stopping"))
    assert (said["id"], said["error"]["message"]) == (1, "the server is stopping")
