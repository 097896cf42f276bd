"""Clients that were written for zot's rpc, each in the way of one of them.

They send text ids, send `hello` and the prompt without waiting, know no record of ours, take `error` for the end, close
stdin at `done`, and leave. Some talk over sockets: Node gives its children no pipes.
"""

from __future__ import annotations

import socket

import pytest

from tests.support.messages_server import stall_midway, text_reply, tool_reply
from tests.support.patience import PATIENCE_S
from tests.support.rpc_client import RpcClient
from tests.support.zot_process import wait_until

KNOWN = {
    *("user_message", "turn_start", "assistant_start", "text_delta", "tool_use_start", "tool_use_args"),
    *("tool_use_end", "tool_call", "tool_progress", "tool_result", "usage", "assistant_message", "turn_end"),
    *("done", "error"),
}
"""The records of zot."""


def leave(running):
    """The client closes stdin and reads nothing more."""
    running.process.stdin.close()
    assert running.process.wait(PATIENCE_S) == 0
    assert wait_until(lambda: not running.finish().leftovers)


def until_the_end(client):
    """Reads up to `done`, or to `error`, which many clients take for the end."""
    while True:
        line = client.next()
        if line["type"] in ("done", "error"):
            return line


def known(client):
    return [line for line in client.lines if line["type"] in KNOWN]


def test_a_client_that_knows_only_zot_s_records_sees_zot_s_order(rpc, server):
    server.add(tool_reply([("read", {"path": "nowhere"})]), text_reply("Not there."))
    with rpc() as running:
        client = running.client
        client.send("prompt", id="1f0c", message="go", images=[])
        assert until_the_end(client)["type"] == "done"
        leave(running)
    kinds = [line["type"] for line in known(client)]
    assert list(dict.fromkeys(kinds)) == [
        *("user_message", "turn_start", "assistant_start", "tool_use_start", "tool_use_args", "tool_use_end", "usage"),
        *("assistant_message", "tool_call", "turn_end", "tool_result", "text_delta", "done"),
    ]
    (call,) = [line for line in client.lines if line["type"] == "tool_call"]
    (result,) = [line for line in client.lines if line["type"] == "tool_result"]
    assert (call["name"], call["args"], result["is_error"]) == ("read", {"path": "nowhere"}, True)
    cumulative = [line["cumulative"] for line in client.lines if line["type"] == "usage"]
    assert [set(map(type, totals.values())) for totals in cumulative] == [{int, float, type(None)}] * 2
    assert {name for totals in cumulative for name in totals if totals[name] is None} == {"reasoning"}
    assert cumulative[0]["input"] < cumulative[1]["input"]


@pytest.mark.parametrize(("model", "dollars"), [("claude-sonnet-5-5", True), ("llama-99b", False)])
def test_a_client_that_prints_what_was_used(rpc, server, model, dollars):
    """The client takes a missing cost for 0 and formats the cost as a number: it can read no other type there."""
    server.add(text_reply("Hello."))
    with rpc("--model", model) as running:
        client = running.client
        client.send("prompt", id="1", message="go")
        assert until_the_end(client)["type"] == "done"
        client.send("get_state", id="2")
        state = client.until("response")["data"]
        leave(running)
    (usage,) = [line for line in client.lines if line["type"] == "usage"]
    (result,) = [line for line in client.lines if line["type"] == "result"]
    for used in (usage, usage["cumulative"], state["usage"], result["usage"]):
        assert f"{used.get('input', 0)} in ${used.get('cost_usd', 0):.4f}".startswith("10 in $0.000")
        assert ("cost_usd" in used) == dollars
    assert (result["cost_usd"] is not None) == dollars


def test_a_client_that_counts_reasoning_and_measures_the_context(rpc, server):
    """A count of a wrong form counts as unsaid: it is no reason to lose a paid reply."""
    said = (
        {"thinking_tokens": 4},
        None,
        {"thinking_tokens": "9"},
        {"thinking_tokens": -9},
        [9],
        {"thinking_tokens": 1},
    )
    server.add(*(text_reply("Hello.", details=details) for details in said), text_reply("It was so."))
    with rpc() as running:
        client = running.client
        for _ in said:
            client.send("prompt", message="go")
            assert until_the_end(client)["type"] == "done"
        client.send("get_state", id="s")
        state = client.until("response", id="s")["data"]
        client.send("compact")
        assert until_the_end(client)["type"] == "done"
        leave(running)
    *turns, summary = [line for line in client.lines if line["type"] == "usage"]
    assert [line["reasoning"] for line in turns] == [4, None, None, None, None, 1]
    assert [line["cumulative"]["reasoning"] for line in turns] == [4, 4, 4, 4, 4, 5]
    results = [line["usage"]["reasoning"] for line in client.lines if line["type"] == "result"]
    assert results == [4, None, None, None, None, 1]
    assert state["usage"]["reasoning"] == summary["cumulative"]["reasoning"] == 5
    assert [line.get("auxiliary") for line in (*turns, summary)] == [None] * len(turns) + [True]


def test_a_client_that_leaves_after_done_but_not_its_stdin(rpc, server):
    """A loop in a shell that ends at `done`, and before it a `cat` that holds the pipe."""
    server.add(text_reply("Hello."))
    with rpc() as running:
        running.client.send("prompt", id="1", message="go")
        until_the_end(running.client)
        running.process.stdout.close()
        assert running.process.wait(PATIENCE_S) == 0


def test_a_client_on_one_socket(zot, server):
    """As a server of sockets starts its children: what is readable on stdout are the requests."""
    server.add(text_reply("Hello."), stall_midway(text_reply("Once upon a time"), after=4))
    ours, theirs = socket.socketpair()
    flags = ("rpc", "--base-url", server.base_url, "--api-key", "k", "--drain-timeout", "0")
    with ours, zot.start(*flags, cold=True, stdin=theirs, stdout=theirs) as running:
        theirs.close()
        client = RpcClient(ours.fileno(), ours.fileno())
        client.prompt("go")
        client.send("prompt", message="go")
        client.until("text_delta")
        ours.shutdown(socket.SHUT_WR)
        assert client.rest()[-2]["status"] == "interrupted"
        assert running.process.wait(PATIENCE_S) == 0
