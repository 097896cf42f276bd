"""A run of a batch that needs no agent: it speaks on the link and does what its prompt says, word by word.

`ok`, `fail STATUS` (which may pass), `fault STATUS` (which would come again), `die SIGNAL`, `exit N`, `hang`, `deaf`
(hangs, and does not end when it is told to), `eat MIB`, `leave` (a child with a session of its own stays), `usage N`
(one request with N tokens, answered), `ask N` (a request for at most N tokens that is never answered), `send N` (the
same, and goes on), `say TEXT`, `garbage`, `noise` (bytes that are no text), `close` (its link, and hangs), `wait`
(until the line `go` comes), `once FILE` (what follows is done only if FILE is not there yet; it is made), `flood N` (N
events of 64 KiB), `full` (no room for its workspace).
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

    def end(self, status: str, reason: str = "", exit_code: int = 0, *, may_pass: bool = False) -> NoReturn:
        tokens = {"input": self.requests, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": self.cost}
        self.event(
            "result", status=status, exit_code=exit_code, reason=reason, text=f"did {self.begin['task']['id']}",
            steps=1, usage=tokens, cost_usd=self.cost, duration_ms=1, session="s", extensions={},
        )  # fmt: skip
        self.event("done")
        self.link(type="ended", status=status, reason=reason, may_pass=may_pass)
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
        time.sleep(600)

    def run(self) -> NoReturn:
        self.link(type="phase", state="running")
        self.event("session", schema_version=1, zot_version="0", id="s", provider="replay", model="m", cwd="/",
                   extensions=[], time="")  # fmt: skip
        while self.words:
            do = getattr(self, f"do_{self.words.pop(0)}", None)
            if do is not None:
                do()
        self.end("ok")

    def next(self) -> str:
        return self.words.pop(0)

    def do_fail(self) -> None:
        self.end(self.next(), "as it was told", 1, may_pass=True)

    def do_fault(self) -> None:
        self.end(self.next(), "as it was told", 1)

    def do_die(self) -> None:
        print("about to die", file=sys.stderr, flush=True)
        number = signal.Signals[self.next()]
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def do_exit(self) -> None:
        os._exit(int(self.next()))

    def do_flood(self) -> None:
        for _ in range(int(self.next())):
            self.event("text_delta", delta="x" * 65536)

    def do_full(self) -> None:
        self.link(type="ended", status="interrupted", reason="no room for a copy", has_no_room=True)
        sys.exit(1)

    def do_hang(self) -> None:
        self.wait()

    def do_wait(self) -> None:
        self.wait()

    def do_deaf(self) -> None:
        self.wait(obeys=False)

    def do_eat(self) -> None:
        eaten = bytearray(int(self.next()) * BLOCK)
        eaten[::4096] = b"x" * len(eaten[::4096])
        self.wait()

    def do_leave(self) -> None:
        subprocess.Popen(["sleep", "600"], start_new_session=True)

    def do_usage(self) -> None:
        self.ask()
        cost = 0.01
        self.cost += cost
        total = {"input": int(self.next()), "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": cost}
        self.event("usage", **total, cumulative=total)

    def do_ask(self) -> None:
        self.ask(int(self.next()))
        self.wait()

    def do_send(self) -> None:
        self.ask(int(self.next()))

    def do_say(self) -> None:
        self.event("text_delta", delta=self.next())

    def do_garbage(self) -> None:
        self._sock.sendall(b"no json\n")
        self.wait()

    def do_noise(self) -> None:
        self._sock.sendall(b'{"type":"phase","state":"\xff"}\n')
        self.wait()

    def do_close(self) -> None:
        self._lines.close()
        self._sock.close()
        time.sleep(600)

    def do_once(self) -> None:
        try:
            os.close(os.open(self.next(), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            self.end("ok")


if __name__ == "__main__":
    Standin(int(sys.argv[1])).run()
