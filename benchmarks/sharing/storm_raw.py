"""Many sessions of a kill storm in one process: raw clients of the attach protocol, each with some calls under way.

argv: the file with the path of the present host's attach socket, the seed, the number of calls, the number of sessions,
and the extensions, separated by commas: every tenth session takes the last of them too. Prints its figures as JSON when
all its calls have ended.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from pathlib import Path

import orjson

from benchmarks.sharing.storm_book import Book, Call
from wire.dialects import attach
from wire.dialects.attach import PROTOCOL, ext_head

AT_ONCE = 4
"""Maximum number of calls of one session under way."""
DIES = 1 / 400
"""Chance that a run ends abruptly after an answer."""
RETRY_S = 0.05
_KINDS = (
    b'{"type":"tool_call","id":"%d","name":"say_%s","args":{"secret":"%s","session":"%s"}}}\n',
    b'{"type":"event_intercept","id":"%d","event":"tool_call","tool_id":"t","tool_name":"%s",'
    b'"tool_args":{"secret":"%s","session":"%s"}}}\n',
)


class Session:
    """One run after another, each with a session and a secret of its own."""

    def __init__(self, book: Book, host_file: Path, extensions: list[str], selector: selectors.BaseSelector) -> None:
        self._book = book
        self._host_file = host_file
        self._extensions = extensions
        self._selector = selector
        self._sock: socket.socket | None = None
        self.open: dict[str, Call] = {}
        self._up: set[str] = set()
        self._rest = b""
        self._number = 0
        self._retry_at = 0.0

    @property
    def is_attached(self) -> bool:
        return self._sock is not None

    def attach(self) -> None:
        """Connects to the present host, as a new run. Tries again later if there is none."""
        if self._sock is not None or time.monotonic() < self._retry_at:
            return
        self._retry_at = time.monotonic() + RETRY_S
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.setblocking(False)
            sock.connect(self._host_file.read_text())
        except OSError:
            sock.close()
            return
        self._id, self._secret = self._book.session()
        self._sock, self._rest, self._number = sock, b"", 0
        self._up.clear()
        self._selector.register(sock, selectors.EVENT_READ, self)
        line = attach.Attach(PROTOCOL, "0", os.getpid(), self._id, f"/tmp/{self._id}")
        self._send(attach.encode(line) + b"".join(attach.encode(attach.Take(name)) for name in self._extensions))

    def _send(self, data: bytes) -> None:
        assert self._sock is not None
        try:
            self._sock.setblocking(True)
            self._sock.sendall(data)
            self._sock.setblocking(False)
        except OSError:
            self._lost()

    def call(self) -> None:
        """Begins calls until enough are under way."""
        dice, lines = self._book.dice, []
        while self._up and len(self.open) < AT_ONCE and self._book.may_begin:
            name = dice.choice(sorted(self._up)).encode()
            call = self._book.begin(self._secret)
            self._number += 1
            self.open[str(self._number)] = call
            frame = dice.choice(_KINDS) % (self._number, name, call.expected.encode(), self._id.encode())
            lines.append(ext_head(name.decode()) + frame)
        if lines:
            self._send(b"".join(lines))

    def read(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(orjson.loads(line))
            if not self.is_attached:
                return
        self.call()

    def _take(self, line: dict[str, object]) -> None:
        match line:
            case {"type": "ext", "frame": {"type": "tool_result", "id": str(number), "content": [{"text": str(text)}]}}:
                self._answered(number, text)
            case {"type": "ext", "frame": {"type": "event_intercept_response", "id": str(number), **answer}}:
                self._answered(number, str(answer.get("reason", "allowed")))
            case {"type": "failed", "id": str(number), "reason": str(reason)}:
                self._book.fail(self.open.pop(number, None), reason)
            case {"type": "registered", "extension": str(name)}:
                self._up.add(name)
            case {"type": "state", "extension": str(name), "state": state}:
                self._up.discard(name)
                if state == "gone" and line.get("is_private"):
                    self._book.convicted += 1
                    self._end()  # it would start a process of its own: another run comes
            case {"type": "ext" | "error"}:
                self._book.fault("an unexpected line", str(line))
            case _:
                pass

    def _answered(self, number: str, said: str) -> None:
        self._book.answer(self.open.pop(number, None), said)
        if self._book.dice.random() < DIES:
            self._end()

    def _end(self) -> None:
        """The run is killed: what it had under way ends with it."""
        self._book.drop(len(self.open))
        self._forget()

    def _lost(self) -> None:
        """The host is gone: all that was under way fails."""
        for call in self.open.values():
            self._book.fail(call, "the host has closed the connection")
        self._forget()

    def _forget(self) -> None:
        if self._sock is not None:
            self._selector.unregister(self._sock)
            self._sock.close()
        self._sock = None
        self._up.clear()
        self.open.clear()


def main() -> None:
    file, seed, calls, count, named = sys.argv[1:]
    extensions = named.split(",")
    book, selector = Book(int(calls), int(seed)), selectors.DefaultSelector()
    sessions = [
        Session(book, Path(file), extensions if number % 10 == 0 else extensions[:-1], selector)
        for number in range(int(count))
    ]
    looked = time.monotonic()
    while book.may_begin or any(session.open for session in sessions):
        for session in sessions:
            session.attach()
        for key, _ in selector.select(RETRY_S):
            if key.fileobj is key.data._sock:
                key.data.read()
        if time.monotonic() - looked > 1:
            looked = time.monotonic()
            for session in sessions:
                session.call()
                for call in session.open.values():
                    book.look(call)
            if book.counts:
                break
    print(json.dumps(book.summary()), flush=True)


if __name__ == "__main__":
    main()
