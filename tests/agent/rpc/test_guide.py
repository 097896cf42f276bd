"""The server answers as docs/rpc.md shows."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from tests.support.extension_folder import extension
from tests.support.faulty_run import program
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says
from wire.rpc.requests import COMMANDS

GUIDE = (Path(__file__).parents[3] / "docs" / "rpc.md").read_text()
BLOCKS = re.findall(r"^```rpc\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
EXAMPLES = [line for block in BLOCKS for line in block.splitlines()]
REPLIES = [
    says("Hi."),
    says("", ("t1", "bash", {"command": "cat gate"})),
    says("Green."),
    [{"type": "message_start", "usage": {}}, {"type": "text_delta", "delta": "Once"}],
    says("## Goal…"),
    says("", ("t1", "weather", {"city": "Oslo"})),
    says("It rains."),
    says("", *[(call, "bash", {"command": "echo publish"}) for call in ("t2", "t3")]),
    says("Once."),
]
DESK = """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    asks = "publish" in frame["tool_args"].get("command", "")
    send(type="event_intercept_response", id=frame["id"], ask=asks, reason="it publishes" if asks else None)
"""
ANYTHING = "…"


def equals(shown, said):
    """Whether a value is as shown. `…` stands for any value, any rest of a list, and any other members."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict) and isinstance(said, dict):
        named = {name for name in shown if name != ANYTHING}
        return (named == said.keys() or (ANYTHING in shown and named <= said.keys())) and all(
            equals(shown[name], said[name]) for name in named
        )
    if isinstance(shown, list) and isinstance(said, list) and shown[-1:] == [ANYTHING]:
        return len(said) >= len(shown) - 1 and all(map(equals, shown[:-1], said))
    if isinstance(shown, list) and isinstance(said, list):
        return len(shown) == len(said) and all(map(equals, shown, said))
    return bool(shown == said)


def test_what_is_shown_is_what_is_said(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        for line in EXAMPLES:
            what = line[2:]
            if line.startswith("> "):
                client.send_bytes(what.encode() + b"\n")
                continue
            shown = json.loads(what)
            said = client.until(shown["type"])
            assert equals(shown, said), f"docs/rpc.md shows {what}, but the server says {json.dumps(said)}"
            if said.get("command") == "steer":
                gate.write_text("\n")  # the tool of the prompt has run until now

    made = (str(extension(tmp_path, "commands")), str(program(tmp_path, "desk", DESK)))
    served = serve(tmp_path, ScriptedModel(*REPLIES), script, extensions=made, extension_wait=30.0)
    assert served.status == 0


def test_each_command_has_an_example():
    asked = {json.loads(line[2:])["type"] for line in EXAMPLES if line.startswith("> ") and line.endswith("}")}
    assert set(COMMANDS) - asked == set()


def test_an_example_that_differs_is_found():
    assert equals({"a": [1, ANYTHING], ANYTHING: ANYTHING}, {"a": [1, 2], "b": 3})
    for shown in ({"a": [2, ANYTHING], ANYTHING: ANYTHING}, {"a": [1, 2]}, {"a": [1], "b": 3}):
        assert not equals(shown, {"a": [1, 2], "b": 3})
