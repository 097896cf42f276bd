"""An extension that does all for several runs and says for which, and runs that speak the lines themselves."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tests.support.shared_stand import BACK
from wire.dialects import attach
from wire.dialects.attach import PROTOCOL, ext_head, ext_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.shared_stand import SharedRun, Stand

ALL = """
send(type="hello", name="all", capabilities=["call_tool", "submit", "cancel"])
for tool in ("echo", "note", "submit", "nested", "told", "steal", "hold", "free"):
    send(type="register_tool", name=tool, schema={"type": "object"})
send(type="subscribe", events=["session_start", "session_end", "turn_start"], intercept=["tool_call"])
send(type="ready")
told, calls, held = [], {}, []
for frame in frames():
    kind, session = frame["type"], frame.get("session_id")
    if kind == "event":
        told.append([frame["event"], session, frame.get("reason")])
    elif kind == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason="for " + str(session))
    elif kind == "tool_result":
        if frame["id"] in calls:
            result(calls.pop(frame["id"]), "nested: " + frame["content"][0]["text"])
    elif kind == "tool_call":
        name, text = frame["name"], frame["args"].get("text", "")
        if name == "hold":
            held.append(frame)
            send(type="tool_progress", id=frame["id"], text="held")
            continue
        elif name == "free":
            for each in held:
                result(each, "freed")
            held.clear()
        elif name == "note":
            send(type="notify", level="info", message=text, session_id=session)
        elif name == "submit":
            send(type="submit", text=text, session_id=session)
        elif name == "nested":
            calls["c" + frame["id"]] = frame
            send(type="call_tool", id="c" + frame["id"], name="own", args={}, parent_id=frame["id"])
            continue
        elif name == "told":
            text = json.dumps(told)
        elif name == "steal":
            other = frame["args"]["session"]
            send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "stolen"}], session_id=other)
            send(type="notify", level="info", message="stolen", session_id="nobody")
            send(type="call_tool", id="s", name="own", args={}, parent_id=frame["id"], session_id=other)
            continue
        result(frame, text + " for " + str(session))
"""
"""One extension that does all, and says for which session."""


def runs_at(stand: Stand, *, number: int = 2, **options: Any) -> list[SharedRun]:
    stand.write("all", ALL, on_failure="deny", restart=BACK)
    stand.start()
    return [stand.run(**options) for _ in range(number)]


def told(run: SharedRun) -> list[list[Any]]:
    """The events that the process has seen, of all sessions: each with its session and its reason."""
    return list(json.loads(run.text("told").rpartition(" for ")[0]))


class Client:
    """A run that speaks the lines itself."""

    def __init__(self, stand: Stand, session_id: str = "client") -> None:
        assert stand.host is not None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(stand.zot.home / "run" / f"{stand.host.pid}.attach"))
        self.lines = self.socket.makefile("rb")
        self.head = ext_head("all")
        if session_id:
            self.say(attach.Attach(PROTOCOL, "1.0", os.getpid(), session_id, "/tmp"))

    def say(self, line: Any) -> None:
        self.socket.sendall(attach.encode(line))

    def frame(self, **frame: Any) -> None:
        self.socket.sendall(ext_line(self.head, json.dumps(frame).encode() + b"\n"))

    def next(self, kind: type | None = None) -> Any:
        """The next line, or the next of this type; None at the end."""
        while line := self.lines.readline():
            decoded = attach.decode_from_host(line)
            if kind is None or isinstance(decoded, kind):
                return decoded
        return None

    def take(self) -> Client:
        self.next(attach.Attached)
        self.say(attach.Take("all"))
        self.next(attach.Registered)
        return self

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


@contextmanager
def client_of(stand: Stand, session_id: str = "client") -> Iterator[Client]:
    client = Client(stand, session_id)
    try:
        yield client
    finally:
        client.close()


class Relay:
    """Stands between runs and the attach socket, and keeps all bytes."""

    def __init__(self, real: Path, path: Path) -> None:
        self.seen = bytearray()
        self._real = real
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        sock, _ = self._listener.accept()
        other = socket.socket(socket.AF_UNIX)
        other.connect(str(self._real))
        back = threading.Thread(target=self._pass, args=(other, sock))
        back.start()
        self._pass(sock, other)
        back.join()
        sock.close()
        other.close()
        self._listener.close()

    def _pass(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.seen += data
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        self._threads[0].join()
