"""A server is opened in its era without a probe, and one that speaks another version is given up by name."""

from __future__ import annotations

import pytest

from tests.support.mcp_dialect_talk import MODERN, Talk, discovered, initialized, opened, text_result, tool
from wire import frames
from wire.dialects.base import LIMIT, Instructions, Unusable
from wire.dialects.mcp.handshake import BAD_ANSWER_S
from wire.dialects.mcp.versions import LEGACY

META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "zot", "version": "1.2"},
}


def unusable(heard: list) -> Unusable:
    (message,) = heard
    assert isinstance(message, Unusable)
    return message


def test_the_host_speaks_first_and_declares_nothing():
    (opening,) = Talk().sent
    assert opening == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "zot", "version": "1.2"},
        },
    }


@pytest.mark.parametrize("version", LEGACY)
def test_each_version_with_a_handshake_is_spoken(version: str):
    talk = Talk()
    hello, *_ = talk.answer("initialize", initialized(version))
    assert hello == frames.Hello("server", "3.4", ["cancel", "ping"])
    assert [each.get("method") for each in talk.sent[1:]] == [
        "notifications/initialized",
        "tools/list",
        "prompts/list",
        "logging/setLevel",
    ]
    assert talk.asked("notifications/initialized").keys() == {"jsonrpc", "method"}
    assert talk.asked("tools/list")["params"] == {}
    assert talk.asked("logging/setLevel")["params"] == {"level": "info"}
    assert [each["id"] for each in talk.sent if "id" in each] == [1, 2, 3, 4], "one counter"


def test_what_is_not_declared_is_not_asked_for():
    talk = Talk()
    talk.answer("initialize", initialized(capabilities={}))
    assert [each["method"] for each in talk.sent[1:]] == ["notifications/initialized", "tools/list"]
    assert talk.refuse("tools/list", -32601, "Method not found") == [frames.Ready()], "it has no tools, and says so"


def test_ready_comes_behind_the_last_of_the_first_lists():
    talk = Talk()
    talk.answer("initialize", initialized())
    (registered,) = talk.answer("tools/list", {"tools": [tool("t")]})
    assert isinstance(registered, frames.RegisterTool)
    command, ready = talk.answer("prompts/list", {"prompts": [{"name": "p"}]})
    assert (command.name, ready) == ("mcp__desk__p", frames.Ready())


@pytest.mark.parametrize("version", ["2023-01-01", "2027-01-01", "", 5, {"a": 1}, None])
def test_another_version_ends_it_and_both_are_named(version: object):
    gone = unusable(Talk().answer("initialize", initialized(version)))
    assert not gone.may_pass
    assert "2025-11-25" in gone.reason
    assert version is None or str(version) in gone.reason


@pytest.mark.parametrize("result", [None, [], "x", 5, {}])
def test_an_answer_without_a_version_ends_it(result: object):
    assert not unusable(Talk().answer("initialize", result)).may_pass


@pytest.mark.parametrize(
    ("code", "more"),
    [
        (-32022, {}),
        (-32022, {"data": {"supported": [MODERN], "requested": "2025-11-25"}}),
        (-32602, {"data": {"supported": ["2025-11-25", MODERN]}}),
    ],
)
def test_a_modern_server_is_asked_again_on_the_same_process(code: int, more: dict):
    talk = Talk()
    assert talk.refuse("initialize", code, **more) == []
    assert talk.sent[-1] == {"jsonrpc": "2.0", "id": 2, "method": "server/discover", "params": {"_meta": META}}
    assert isinstance(talk.answer("server/discover", discovered())[0], frames.Hello)
    # From now on, restarts included.
    again = Talk(kept=talk.kept)
    assert [each["method"] for each in again.sent] == ["server/discover"]
    assert isinstance(again.answer("server/discover", discovered())[0], frames.Hello)
    assert [each["method"] for each in Talk(kept=talk.kept).sent] == ["server/discover"]


def test_a_server_that_answers_initialize_with_the_modern_version_is_asked_again():
    talk = Talk()
    assert talk.answer("initialize", initialized(MODERN)) == []
    assert talk.sent[-1]["method"] == "server/discover"


@pytest.mark.parametrize("supported", [["2027-01-01"], [5, None]])
def test_a_server_of_other_versions_is_given_up(supported: list):
    gone = unusable(Talk().refuse("initialize", -32022, data={"supported": supported}))
    assert not gone.may_pass
    assert str(supported[0]) in gone.reason
    assert MODERN in gone.reason
    talk = Talk()
    talk.refuse("initialize", -32022)
    assert not unusable(talk.answer("server/discover", discovered(supportedVersions=supported))).may_pass


def test_another_error_may_pass():
    gone = unusable(Talk().refuse("initialize", -32603, "database is locked"))
    assert gone.may_pass
    assert "MCP error -32603: database is locked" in gone.reason


def test_a_server_that_cannot_read_initialize_is_given_up_soon():
    talk = Talk()
    assert talk.hear({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}) == []
    assert "Parse error" in unusable(talk.wait_until_due()).reason
    assert talk.now == BAD_ANSWER_S


def test_what_only_looks_like_the_answer_does_not_count():
    talk = Talk()
    talk.hear(b'{"jsonrpc":"2.0","id":1}\n{"jsonrpc":"2.0","id":1,"result":\n')
    assert isinstance(talk.answer("initialize", initialized())[0], frames.Hello)
    talk.answer("tools/list", {"tools": []})
    talk.answer("prompts/list", {"prompts": []})
    assert talk.session.due_at is None


@pytest.mark.parametrize("silent", [True, False])
def test_a_server_that_is_modern_no_more_is_opened_in_the_other_era_the_next_time(silent: bool):
    talk = Talk(kept={"mcp_era": MODERN})
    if not silent:
        assert unusable(talk.refuse("server/discover", -32601)).may_pass
    assert Talk(kept=talk.kept).sent[0]["method"] == "initialize"


def test_every_request_of_the_modern_era_says_its_version():
    talk = opened(modern=True)
    methods = [each["method"] for each in talk.sent]
    assert methods == ["server/discover", "subscriptions/listen", "tools/list", "prompts/list"], "no setLevel"
    call = talk.call("7")
    for each in (*talk.sent[1:], call):
        meta = dict(each["params"]["_meta"])
        assert meta.pop("io.modelcontextprotocol/logLevel") == "info", "the server has logging"
        meta.pop("progressToken", None)
        assert meta == META
    assert talk.asked("subscriptions/listen")["params"]["notifications"] == {"toolsListChanged": True}


def test_a_modern_server_may_have_no_subscriptions():
    talk = opened(modern=True)
    (remark,) = talk.refuse("subscriptions/listen", -32601)
    assert "subscriptions/listen" in remark.text
    talk.call("7")
    assert talk.answer("tools/call", text_result())[0].id == "7"


def test_before_the_answer_to_initialize_a_server_may_log_ask_and_report_changes():
    talk = Talk()
    (logged,) = talk.hear(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warning", "data": "early"}},
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
        {"jsonrpc": "2.0", "id": 0, "method": "ping"},
    )
    assert logged.text == "[warn] early", "no frame may come before the hello"
    assert talk.sent[-1] == {"jsonrpc": "2.0", "id": 0, "result": {}}
    talk.answer("initialize", initialized())
    assert talk.session.due_at is not None
    talk.answer("tools/list", {"tools": []})
    talk.answer("prompts/list", {"prompts": []})
    assert talk.session.due_at is None, "the first list covers the change"


def test_the_second_answer_to_initialize_does_not_count():
    talk = Talk()
    first = {"jsonrpc": "2.0", "id": 1, "result": initialized()}
    assert isinstance(talk.hear(first)[0], frames.Hello)
    sent = len(talk.sent)
    (remark,) = talk.hear(first)
    assert "request 1, which is not open" in remark.text
    assert len(talk.sent) == sent


# --- instructions -------------------------------------------------------------------------------------------


def told(talk: Talk, instructions: object) -> list[str]:
    heard = talk.answer("initialize", initialized(instructions=instructions))
    return [each.text for each in heard if isinstance(each, Instructions)]


def test_instructions_are_passed_on_and_cut():
    assert told(Talk(), "Be kind.\n") == ["Be kind."]
    (cut,) = told(Talk(), "ä" * 3000)
    assert LIMIT - 8 < len(cut.encode()) <= LIMIT
    assert cut.endswith("ä …")
    assert told(Talk(), 5) == []


def test_false_stops_instructions_and_a_restart_takes_them_back():
    assert told(Talk(instructions=False), "Be kind.") == []
    talk = Talk()
    told(talk, "Be kind.")
    assert told(Talk(kept=talk.kept), "") == [""]
    assert told(Talk(kept=talk.kept), "") == []
