"""An extension calls the tools of others in `zot mcp serve`, in `zot host` and in a replayed run of the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.control.client import ControlError
from tests.support.callers import argv_of, call, text_of
from tests.support.extension_folder import extension, folder
from tests.support.host_process import hosting
from tests.support.mcp_served_client import McpClient
from tests.support.patience import PATIENCE_S
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire import frames
from wire.events import ToolCall, ToolResult
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot


def caller(zot: Zot, *tools: str, node: bool = False) -> Path:
    argv = argv_of(zot.folder, "caller", *tools, node=node)
    return folder(zot.folder, "caller", argv, timeouts={"tool_call": 60}, restart={"policy": "temporary"})


@pytest.mark.slow
@pytest.mark.parametrize("node", [False, True], ids=["python", "node"])
def test_mcp_serve_carries_out_what_an_extension_calls_under_the_guards(zot: Zot, node: bool):
    folders = [extension(zot.folder, "echo"), extension(zot.folder, "gatekeeper"), caller(zot, "ask", node=node)]
    flags = [word for each in folders for word in ("-e", each)]
    with McpClient(zot, "--no-ext", *flags) as client:
        assert set(client.tools()) >= {"ask", "echo"}
        say = [call("echo", "a", text="hi"), call("echo", "b", text="forbidden"), call("bash", "c", command="true")]
        text, is_error = client.call("ask", say=say)
        assert not is_error, text
        got = {each["id"]: (text_of(each), each["is_error"]) for each in json.loads(text)}
        assert got["a"] == ("hi", False)
        assert got["b"] == ("refused by the guard gatekeeper: that word is not said here", True)
        assert got["c"][0].startswith("no such tool: 'bash'"), "a host without an agent has no tools of its own"
        stats = zot.run("top", "--once", "--json").json_lines[0]["extensions"]
        assert stats["caller"]["calls_made"] == 2
        outcome = client.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])


def test_a_host_does_too_and_a_cancelled_request_of_its_client_ends_the_call(zot: Zot):
    with hosting(
        zot, extension(zot.folder, "echo"), extension(zot.folder, "never_answers"), caller(zot, "ask")
    ) as host:
        host.settle()

        def ask(*say: dict[str, Any]) -> frames.Raw:
            return frames.Raw(json.dumps({"say": say}).encode())

        client = host.client
        client.send(frames.ToolCall("x", "ask", ask(call("hang"))))
        wait_until(lambda: host.stats()["never_answers"].pending == 1)
        client.send(frames.Cancel("x", "enough"))
        with pytest.raises(ControlError, match="enough"):
            client.answer_to("x", frames.ToolResult, PATIENCE_S)
        wait_until(lambda: host.stats()["never_answers"].pending == 0)


def test_a_run_shows_them_in_its_stream_and_leaves_nothing(zot: Zot):
    script = Script(zot.cwd, extra={"ask": ""}).call(("ask", {"say": [call("bash", command="echo made > made")]}))
    outcome = zot.replay(script, "--max-steps", "1", "-e", caller(zot, "ask")).check(Status.MAX_STEPS)
    (asked, made), (inner, outer) = outcome.of(ToolCall), outcome.of(ToolResult)
    assert (made.id, made.name, made.origin_extension) == (f"{asked.id}/1", "bash", "caller")
    assert (inner.id, outer.id, inner.is_error) == (made.id, asked.id, False)
    assert (zot.cwd / "made").read_text() == "made\n"
    assert outcome.leftovers == []
