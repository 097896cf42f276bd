"""`zot rpc` keeps a conversation that outlives the server."""

from __future__ import annotations

import subprocess

from agent.sessions.load import load
from tests.support.messages_server import stall_midway, text_reply, tool_reply
from tests.support.rpc_client import RpcClient
from tests.support.session_files import ID, write_session

UP_TO_A_DELTA = 4


def test_a_killed_server_loses_only_the_reply_that_was_coming(zot, server):
    def start(*flags):
        return zot.start("rpc", "--base-url", server.base_url, "--api-key", "k", *flags, stdin=subprocess.PIPE)

    server.add(
        tool_reply([("bash", {"command": "echo one"})]),
        text_reply("Said."),
        stall_midway(text_reply("Never said."), after=UP_TO_A_DELTA),
        text_reply("Again."),
    )
    with start("--save-session") as running:
        client = RpcClient.of(running)
        client.prompt("first")
        kept = client.ask("get_state")["data"]["session"]["id"]
        client.send("prompt", message="second")
        client.until("text_delta")
        running.process.kill()
        running.process.wait()
    with start("-r", kept) as running:
        client = RpcClient.of(running)
        state = client.ask("get_state")["data"]
        assert (state["session"]["id"], state["message_count"]) == (kept, 5)
        client.prompt("third")
        running.process.stdin.close()
        client.rest()
    texts = [block.get("text") for message in server.requests[-1].body["messages"] for block in message["content"]]
    assert [text for text in texts if text] == ["first", "Said.", "second", "third"]


def test_a_copy_that_has_no_message_of_its_own_is_copied_whole(zot, server):
    """Also what was said before a compaction."""
    path = write_session(zot.home, str(zot.cwd))
    flags = ("--base-url", server.base_url, "--api-key", "k", "-c", "--fork")
    with zot.start("rpc", *flags, stdin=subprocess.PIPE) as running:
        client = RpcClient.of(running)
        own = client.ask("get_state")["data"]["session"]["id"]
        copied = client.ask("fork")["data"]
        running.process.stdin.close()
        client.rest()
    assert (copied["parent"], copied["message_count"]) == (own, 6)
    assert sorted(load(file).meta.parent for file in zot.session_files()) == sorted(["", ID, own])
    assert load(path).message_rows == 6
