"""An extension that offers everything, and one use of each thing that a host serves, over its socket."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING, Any

from tests.support.extension_folder import folder
from tests.support.host import source
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host_process import Hosted

PROGRAM = """
held = []
hello(intercept=["tool_call", "turn_start"], events=["turn_start"])
schema = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^[a-z]*$"}}}
send(type="register_tool", name="NAME_say", schema=schema)
send(type="register_command", name="NAME_do")
send(type="ready")
for frame in frames():
    kind, asked = frame["type"], frame.get("args")
    if kind == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=frame.get("step") == 13, reason="unlucky")
    elif kind == "command_invoked":
        send(type="command_response", id=frame["id"], display="done")
    elif kind == "tool_call":
        text = asked.get("text")
        if text == "crash":
            raise RuntimeError("it is broken")
        if text == "crowd":
            held += [subprocess.Popen(["sleep", "600"]) for _ in range(4)]
        send(type="log", level="info", message="called", fields={"text": text})
        send(type="notify", message="called")
        send(type="panel_render", panel_id="p", title="Panel", lines=[text or ""])
        result(frame, text or "")
"""
LIMITS = {"processes": 3, "breaches": 1}


def everything(parent: Path, name: str = "all", **manifest: Any) -> Path:
    """The extension; it is ended and restarted when it has more than three processes."""
    script = parent / f"{name}.py"
    script.write_text(source(PROGRAM).replace("NAME", name))
    argv = [sys.executable, "-I", "-S", str(script)]
    given = {"restart": {"backoff_s": [0.05, 0.05], "max": 100}, "limits": LIMITS, **manifest}
    return folder(parent, name, argv, **given)


REQUESTS: tuple[dict[str, Any], ...] = (
    {"type": "info"},
    {"type": "get_stats"},
    {"type": "get_status", "name": "all"},
    {"type": "get_status", "name": "al"},
    {"type": "registered"},
    {"type": "watch", "stats_s": 0.1, "notices": True, "shown": True},
    {"type": "watch"},
    {"type": "inof"},
    {"type": 7},
    {"type": "tool_call", "name": "all_say", "args": {"text": "hello"}},
    {"type": "tool_call", "name": "all_say", "args": {"text": "HELLO"}},
    {"type": "tool_call", "name": "all_sya", "args": {}},
    {"type": "command_invoked", "name": "all_do", "args": "it"},
    {"type": "command_invoked", "name": "al_do"},
    {"type": "event_intercept", "event": "turn_start", "step": 1},
    {"type": "event_intercept", "event": "turn_start", "step": 13},
    {"type": "event_intercept", "event": "tool_call", "tool_name": "read", "tool_args": {"path": "a"}},
    {"type": "event_intercept", "event": "turn_strat"},
    {"type": "panel_key", "extension": "all", "panel_id": "p", "key": "enter"},
    {"type": "panel_key", "extension": "all", "panel_id": "q", "key": "enter"},
    {"type": "panel_close", "extension": "all", "panel_id": "p"},
    {"type": "tool_call", "name": "all_say", "args": {"text": "crash"}},
    {"type": "reload", "name": "all"},
    {"type": "restart", "name": "all"},
    {"type": "restart", "name": "al"},
    {"type": "reload", "name": "al"},
    {"type": "reload"},
    {"type": "get_stats"},
)
"""Requests of each kind, right and wrong; the last ones end and start the extension."""


class Lines:
    """Says lines to a host as they are, and reads its answers."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE_S)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rwb")
        self._asked = 0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to this request; other lines are dropped."""
        self._asked += 1
        id_ = f"n{self._asked}"
        self.say(json.dumps({**request, "id": id_}).encode())
        while True:
            answer = self.read()
            if answer.get("id") == id_ and answer["type"] != "tool_progress":
                return answer

    def say(self, line: bytes) -> None:
        self._file.write(line + b"\n")
        self._file.flush()

    def read(self) -> dict[str, Any]:
        line = self._file.readline()
        assert line, "the host has closed the connection"
        return dict(json.loads(line))


def use_everything(host: Hosted, lines: Lines) -> list[dict[str, Any]]:
    """Makes each request once, each after the answer to the one before; returns the answers."""
    lines.say(b"{not json")
    assert lines.read()["type"] == "error"
    lines.say(b'{"type":"event","event":"turn_start","step":1}')
    lines.say(b'{"type":"event","event":"turn_strat","step":1}')
    said = lines.read()["message"]
    assert "turn_start" in said, said
    answers = [lines.ask(request) for request in REQUESTS]
    widen(host.zot.folder / "ext-all" / "extension.json")
    return [*answers, lines.ask({"type": "reload"})]


def widen(manifest: Path) -> None:
    """A new version asks for more of the environment."""
    fields = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**fields, "env": ["SOME_API_KEY"]}))
