"""A run of a batch that needs no agent: it speaks on the link and does what its prompt says, word by word.

`ok`, `fail STATUS`, `die SIGNAL`, `exit N`, `hang`, `deaf` (hangs, and does not end when it is told to), `eat MIB`,
`leave` (a child with a session of its own stays), `usage N` (one request with N tokens, answered), `ask` (a request that
is never answered), `say TEXT`, `garbage`, `wait` (until the line `go` comes), `once FILE` (what follows is done only if
FILE is not there yet; it is made).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any, NoReturn

BLOCK = 1024 * 1024


class Standin:
    def __init__(self, fd: int) -> None:
        self._sock = socket.socket(fileno=fd)
        self._lines = self._sock.makefile("rb")
        self.begin: dict[str, Any] = json.loads(self._lines.readline())
        os.environ["ZOT_HOST_TOKEN"] = self.begin["token"]
        self.requests = 0
        self.cost = 0.0
        self.words = self.begin["task"]["prompt"].split()

    def link(self, **line: Any) -> None:
        self._sock.sendall(json.dumps(line).encode() + b"\n")

    def event(self, kind: str, **fields: Any) -> None:
        os.write(1, json.dumps({"type": kind, **fields}, separators=(",", ":")).encode() + b"\n")

    def end(self, status: str, reason: str = "", exit_code: int = 0) -> NoReturn:
        tokens = {"input": self.requests, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": self.cost}
        self.event(
            "result", status=status, exit_code=exit_code, reason=reason, text=f"did {self.begin['task']['id']}", steps=1,
            usage=tokens, cost_usd=self.cost, duration_ms=1, session="s", extensions={},
        )  # fmt: skip
        self.event("done")
        self.link(type="ended", status=status, reason=reason)
        sys.exit(exit_code)

    def ask(self, max_tokens: int = 100) -> None:
        self.requests += 1
        params = {"max_tokens": max_tokens, "messages": []}
        run = self.begin["run"]
        self.link(type="request", id=f"{run}.{self.requests}", configure={}, model="claude-sonnet-4-5", params=params)

    def wait(self, *, obeys: bool = True) -> None:
        while line := self._lines.readline():
            message = json.loads(line)
            if message["type"] == "abort" and obeys:
                self.end(message["status"], message["reason"], 1)
            if message["type"] == "go":
                return
        if obeys:
            os._exit(9)
        time.sleep(60)

    def run(self) -> NoReturn:
        self.link(type="phase", state="running")
        self.event("session", schema_version=1, zot_version="0", id="s", provider="replay", model="m", cwd="/",
                   extensions=[], time="")  # fmt: skip
        words = self.words
        while words:
            word = words.pop(0)
            if word == "fail":
                self.end(words.pop(0), "as it was told", 1)
            elif word == "die":
                print("about to die", file=sys.stderr, flush=True)  # noqa: T201
                number = getattr(signal, words.pop(0))
                signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
                os.kill(os.getpid(), number)
            elif word == "exit":
                os._exit(int(words.pop(0)))
            elif word == "hang":
                self.wait()
            elif word == "deaf":
                self.wait(obeys=False)
            elif word == "eat":
                eaten = bytearray(int(words.pop(0)) * BLOCK)
                eaten[::4096] = b"x" * len(eaten[::4096])
                self.wait()
            elif word == "leave":
                subprocess.Popen(["sleep", "60"], start_new_session=True)
            elif word == "usage":
                self.ask()
                cost = 0.01
                self.cost += cost
                total = {"input": int(words.pop(0)), "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": cost}
                self.event("usage", **total, cumulative=total)
            elif word == "ask":
                self.ask(int(words.pop(0)) if words and words[0].isdecimal() else 100)
                self.wait()
            elif word == "say":
                self.event("text_delta", delta=words.pop(0))
            elif word == "garbage":
                self._sock.sendall(b"no json\n")
                self.wait()
            elif word == "wait":
                self.wait()
            elif word == "once":
                try:
                    os.close(os.open(words.pop(0), os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    break
        self.end("ok")


if __name__ == "__main__":
    Standin(int(sys.argv[1])).run()
