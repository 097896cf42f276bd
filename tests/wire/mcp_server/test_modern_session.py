"""Answers of a session to requests that each say their version."""

from __future__ import annotations

import pytest

from tests.support.mcp_served_session import INITIALIZE, MODERN, VERSION, Client, text_result
from wire.dialects.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from wire.dialects.mcp.protocol import LEGACY, UNSUPPORTED_VERSION
from wire.mcp_server.offer import Offer
from wire.mcp_server.requests import Era


@pytest.fixture
def client() -> Client:
    return Client()


def test_discover(client: Client):
    result = client.modern("server/discover")
    assert (result["resultType"], result["instructions"]) == ("complete", "what it is")
    assert result["supportedVersions"] == ["2026-07-28", *LEGACY]
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "zot"
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    assert client.session.era is Era.MODERN


def test_modern_results_say_that_they_are_complete(client: Client):
    lists = [client.modern("tools/list"), client.modern("prompts/list")]
    assert [each["resultType"] for each in lists] == ["complete"] * 2
    assert all(each["ttlMs"] == 0 for each in lists)
    key = client.begin("tools/call", {"name": "echo", "_meta": MODERN})
    (said,) = client.take(client.session.called(key, text_result("hi")))
    assert (said["result"]["resultType"], said["result"]["isError"]) == ("complete", False)


def test_an_unknown_version_names_those_that_are_served(client: Client):
    error = client.ask("server/discover", {"_meta": {VERSION: "2030-01-01"}})
    assert error["code"] == UNSUPPORTED_VERSION
    assert error["data"] == {"supported": ["2026-07-28", *LEGACY], "requested": "2030-01-01"}
    assert client.session.era is Era.OPEN


def test_a_modern_client_has_no_ping_and_must_say_its_version(client: Client):
    client.modern("server/discover")
    assert client.modern("ping")["code"] == METHOD_NOT_FOUND
    assert client.modern("logging/setLevel", {"level": "info"})["code"] == METHOD_NOT_FOUND
    assert client.ask("tools/list")["code"] == INVALID_PARAMS


def test_a_client_that_only_asked_may_still_initialize(client: Client):
    client.modern("server/discover")
    assert client.ask("initialize", INITIALIZE)["protocolVersion"] == "2025-11-25"
    assert "resultType" not in client.ask("tools/list")


def test_a_subscription_gets_changes_until_the_end(client: Client):
    asked = {"notifications": {"toolsListChanged": True, "resourcesListChanged": True}, "_meta": MODERN}
    (said,) = client.send({"id": "s", "method": "subscriptions/listen", "params": asked})
    assert said["method"] == "notifications/subscriptions/acknowledged"
    meta = {"io.modelcontextprotocol/subscriptionId": "s"}
    assert said["params"] == {"notifications": {"toolsListChanged": True}, "_meta": meta}
    assert client.session.is_idle, "it is no request that waits"
    (said,) = client.take(client.session.offered(Offer()))
    assert (said["method"], said["params"]) == ("notifications/tools/list_changed", {"_meta": meta})
    (said,) = client.take(client.session.end("because"))
    assert (said["id"], said["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"]) == ("s", "s")


def test_a_cancelled_subscription_is_over(client: Client):
    client.send(
        {
            "id": "s",
            "method": "subscriptions/listen",
            "params": {"notifications": {"toolsListChanged": True}, "_meta": MODERN},
        }
    )
    client.send({"method": "notifications/cancelled", "params": {"requestId": "s"}})
    assert client.take(client.session.offered(Offer())) == []
    assert client.actions == []


def test_modern_log_messages_come_while_a_request_wants_them(client: Client):
    assert client.session.logged("error", "echo", "said") == []
    level = {"io.modelcontextprotocol/logLevel": "warning"}
    key = client.begin("tools/call", {"name": "echo", "_meta": {**MODERN, **level}})
    assert client.session.logged("info", "echo", "said") == []
    assert len(client.session.logged("error", "echo", "said")) == 1
    client.session.called(key, text_result("x"))
    assert client.session.logged("error", "echo", "said") == []
