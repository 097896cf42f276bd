"""Requests to the model at a node: the driver says when, the node's own workers send them with the node's own keys."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import pytest

from agent.batch.cluster.node.node_requests import without_credentials
from agent.batch.pool.leases import account_of, connection_of
from tests.support.messages_server import hold_first_byte, http_error, text_reply
from tests.support.patience import soon
from wire.batch.link import Cancel, ModelRequest, RunEnded
from wire.batch.node_frames import Broke, Exited, Grant, Kill, Replied, Send, Withdraw
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.messages_server import MessagesServer
    from tests.support.node_driver import NodeDriver

KEY = "sk-secret-of-the-node"
TASK = Task(id="a", prompt="go", model="claude-sonnet-4-5", provider="anthropic")


@pytest.fixture
def live(make_driver: Callable[..., NodeDriver], server: MessagesServer) -> NodeDriver:
    """A node with a key in its environment."""
    driver = make_driver(env={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.base_url})
    driver.ready()
    return driver


def asked(driver: NodeDriver) -> tuple[str, ModelRequest]:
    """Starts a run; its name and its request, which has come to the driver."""
    run = driver.start(TASK, run={"provider": "anthropic"})
    return run, driver.told(ModelRequest)


def replied(driver: NodeDriver, kind: str) -> dict[str, Any]:
    frame = driver.take(Replied, lambda frame: orjson.loads(frame.line)["type"] == kind)
    line: dict[str, Any] = orjson.loads(frame.line)
    return line


def test_a_request_is_sent_when_it_is_granted_and_no_key_leaves_the_node(
    live: NodeDriver, server: MessagesServer
) -> None:
    server.add(text_reply("the answer"))
    run, request = asked(live)
    configure = msgspec.json.decode(request.configure)
    assert configure["api_key"].startswith("sha256:")
    assert configure["base_url"] == server.base_url
    assert server.requests == []
    live.send(Grant(run=run, request="another"))
    live.send(Grant(run="another", request=request.id))
    live.send(Grant(run=run, request=request.id))
    assert replied(live, "message_start")["usage"]["output"] >= 0
    final = replied(live, "final")
    assert (final["content"], final["stop_reason"]) == ([], "end_turn")
    assert final["usage"]["input"] > 0
    assert live.told(RunEnded).status is TaskStatus.OK
    live.take(Exited)
    assert b"the answer" in live.output(run)
    (received,) = server.requests
    assert KEY in (received.headers.get("x-api-key"), received.headers.get("authorization", "").removeprefix("Bearer "))
    said = b"".join(map(msgspec.msgpack.encode, live.frames))
    assert KEY.encode() not in said
    assert not any(b"the answer" in frame.line for frame in live.frames if isinstance(frame, Replied))
    live.end()


def test_an_error_waits_for_the_driver_which_may_grant_again_or_pass_it_on(
    live: NodeDriver, server: MessagesServer
) -> None:
    server.add(http_error(429), http_error(400, "no such thing"))
    run, request = asked(live)
    live.send(Grant(run=run, request=request.id))
    error = replied(live, "error")
    assert (error["kind"], error["status"]) == ("rate_limit", 429)
    live.send(Grant(run=run, request=request.id))  # the driver has waited
    error = replied(live, "error")
    assert (error["status"], len(server.requests)) == (400, 2)
    assert live.output(run).count(b'"type":"error"') == 0
    live.send(Send(run=run, data=orjson.dumps({**error, "message": "as the driver says"}) + b"\n"))
    ended = live.told(RunEnded)
    assert ended.status is TaskStatus.ERROR
    assert "as the driver says" in ended.reason
    live.take(Exited)
    live.end()


def test_a_request_that_is_withdrawn_is_told_of_no_more_and_its_worker_ends(
    live: NodeDriver, server: MessagesServer
) -> None:
    server.add(hold_first_byte(text_reply("never")))
    run, request = asked(live)
    live.send(Grant(run=run, request=request.id))
    server.wait_until_held()
    workers = set(live.left())
    live.send(Withdraw(run=run, request=request.id))
    soon(live.loop, lambda: bool(workers - set(live.left())))
    server.release()
    live.send(Kill(run=run))
    live.take(Exited)
    assert [*live.of(Replied, run), *live.of(Broke, run)] == []
    live.end()


def test_a_run_that_gives_its_request_up_gets_no_worker(live: NodeDriver, server: MessagesServer) -> None:
    run, request = asked(live)
    live.send(Send(run=run, data=b'{"type":"abort","status":"interrupted","reason":"no more"}\n'))
    live.told(Cancel)
    live.send(Grant(run=run, request=request.id))  # was under way
    assert live.told(RunEnded).status is TaskStatus.INTERRUPTED
    live.take(Exited)
    assert server.requests == []
    live.end()


def test_a_worker_that_dies_breaks_the_request(live: NodeDriver, server: MessagesServer) -> None:
    server.add(hold_first_byte(text_reply("never")))
    run, request = asked(live)
    before = set(live.left())
    live.send(Grant(run=run, request=request.id))
    server.wait_until_held()
    (worker,) = set(live.left()) - before
    os.kill(worker, signal.SIGKILL)
    broke = live.take(Broke)
    assert (broke.run, broke.request, broke.was_sent) == (run, request.id, True)
    assert "SIGKILL" in broke.message
    server.release()
    live.send(Kill(run=run))
    live.take(Exited)
    live.end()


def configure(**given: Any) -> bytes:
    return orjson.dumps({"type": "configure", "provider": "anthropic", "base_url": "https://host/v1", **given})


def test_equal_credentials_have_one_account_and_are_not_in_it() -> None:
    def account(salt: str = "s", **given: Any) -> object:
        line = without_credentials(configure(**given), salt)
        assert b"secret" not in line
        request = ModelRequest("1", msgspec.Raw(line), "claude-sonnet-4-5", msgspec.Raw(b"{}"))
        return account_of(connection_of(request).line, "claude-sonnet-4-5")

    assert account(api_key="secret1") == account(api_key="secret1")
    assert account(api_key="secret1") != account(api_key="secret2")
    assert account(api_key="secret1") != account()
    assert account(auth_token="secret1") == account(api_key=None, auth_token="secret1")
    assert account(api_key="secret1") != account("other", api_key="secret1")
    hidden = [account(base_url=f"https://{user}@host/v1") for user in ("me:secret", "me:secret", "me:secret2")]
    assert hidden[0] == hidden[1] != hidden[2]
    assert account(base_url="https://host/v1?key=secret") != account(base_url="https://host/v1?key=secret2")


def test_a_configuration_that_cannot_be_read_says_nothing() -> None:
    assert without_credentials(b'["secret"]', "s") == b"{}"


def test_a_configuration_without_credentials_stays_as_it_is() -> None:
    line = configure(api_key=None, auth_token=None, max_retries=2)
    assert orjson.loads(without_credentials(line, "s")) == orjson.loads(line)
    assert (
        orjson.loads(without_credentials(configure(base_url="http://host:1/v1/"), "s"))["base_url"]
        == "http://host:1/v1/"
    )
