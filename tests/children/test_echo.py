"""The well-behaved child answers alike in every language that it is written in."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.children.conversation import Conversation

HERE = Path(__file__).parent


def hold_echo_conversation(*argv: str | Path) -> None:
    with Conversation(*argv, "parrot") as child:
        hello, subscribe, tool, ready = child.frames_up_to("ready")
        assert (hello["type"], hello["name"]) == ("hello", "parrot")
        assert subscribe == {"type": "subscribe", "intercept": ["tool_call"]}
        assert (tool["type"], tool["name"], tool["schema"]) == ("register_tool", "echo", {"type": "object"})
        assert ready == {"type": "ready"}
        child.send("hello_ack", protocol_version=1, zot_version="0", provider="p", model="m", cwd="/")
        child.send("event_intercept", id="7", event="tool_call", tool_id="t", tool_name="bash", tool_args={"id": "9"})
        assert child.frame() == {"type": "event_intercept_response", "id": "7"}
        for call_id, text in enumerate(["", "plain", 'q"\\ {}[], \n\té', "x" * 200_000]):
            assert child.call("echo", str(call_id), text=text) == text
        child.send("not_yet_invented", id="8")
        child.send("shutdown")
        assert child.frame() == {"type": "shutdown_ack"}
        assert child.exit_code() == 0
    with Conversation(*argv) as child:
        assert child.frame()["name"] == "echo"
        child.close_stdin()
        assert child.exit_code() == 0


def test_echo_py():
    hold_echo_conversation(sys.executable, "-I", "-S", HERE / "echo.py")


def test_echo_sh():
    hold_echo_conversation("/bin/sh", HERE / "echo.sh")


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
def test_echo_js():
    hold_echo_conversation("node", HERE / "echo.js")


def test_echo_c(compiled):
    hold_echo_conversation(compiled("echo"))


def test_echo_c_cuts_frames_that_come_in_any_pieces(compiled):
    with Conversation(compiled("echo")) as child:
        child.frames_up_to("ready")
        frame = b'{"type":"tool_call","id":"%d","name":"echo","args":{"text":"t%d"}}\n'
        stream = b"".join(frame % (n, n) for n in range(50))
        for start in range(0, len(stream), 37):
            child.send_bytes(stream[start : start + 37])
        answers = [child.frame() for _ in range(50)]
        assert [answer["content"][0]["text"] for answer in answers] == [f"t{n}" for n in range(50)]
