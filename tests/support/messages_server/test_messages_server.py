"""The scripted server: it leaves no thread behind and releases what it holds."""

from __future__ import annotations

import http.client
import os
import threading
from pathlib import Path

import pytest

from tests.support.messages_server import MessagesServer, Reply, hold_first_byte, text_reply
from tests.support.patience import PATIENCE_S


def post(server: MessagesServer, path: str = "/v1/messages") -> http.client.HTTPConnection:
    host, port = server.base_url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
    connection.request("POST", path, b'{"model": "m"}', {"content-type": "application/json"})
    return connection


def sockets() -> int:
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
    return sum(os.path.islink(link) and os.readlink(link).startswith("socket:") for link in links)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_nothing_is_left_after_closing_with_open_and_held_connections() -> None:
    threads, before = threading.active_count(), sockets()
    with MessagesServer(text_reply("x"), hold_first_byte(Reply(()))) as server:
        idle = post(server)
        assert idle.getresponse().read().endswith(b"\n\n")
        held = post(server)
        server.wait_until_held()
    idle.close()
    held.close()
    assert threading.active_count() == threads
    assert sockets() == before


def test_requests_are_remembered_in_order() -> None:
    with MessagesServer(text_reply("x")) as server:
        first = post(server)
        first.getresponse().read()
        second = post(server)
        assert second.getresponse().status == 400, "the script is used up"
        other = post(server, "/v2/nothing")
        assert other.getresponse().status == 404
        paths = [(request.path, request.connection) for request in server.wait_for_requests(3)]
        assert paths == [("/v1/messages", 0), ("/v1/messages", 1), ("/v2/nothing", 2)]
        assert server.requests[0].body == {"model": "m"}
        assert server.requests[0].at <= server.requests[1].at
        for connection in (first, second, other):
            connection.close()


def test_waiting_for_a_request_that_does_not_come_is_an_error() -> None:
    with MessagesServer() as server, pytest.raises(TimeoutError, match="no 1 requests"):
        server.wait_for_requests(1, timeout_s=0.01)
