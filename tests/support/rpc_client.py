"""The client of an rpc server: sends requests and reads lines, from a test or in a thread beside a server."""

from __future__ import annotations

import json
import os
import select
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.options import Options
from agent.rpc.server import RpcServer
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.zot_process import Outcome, Running

Json = dict[str, Any]


class RpcClient:
    """Talks by two descriptors. `lines` has everything that was read."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.lines: list[Json] = []
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._partial = b""
        self._unread: list[Json] = []
        self._ids = 0
        self.has_no_more_to_say: Callable[[], bool] = lambda: False
        """Whether the server has noticed the end of its stdin, if it runs in this process."""

    @classmethod
    def of(cls, running: Running) -> RpcClient:
        assert running.process.stdin is not None
        assert running.process.stdout is not None
        return cls(running.process.stdout.fileno(), running.process.stdin.fileno())

    def send(self, kind: str, **members: Any) -> None:
        self.send_bytes(json.dumps({"type": kind, **members}).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._write_fd, data) :]

    def next(self) -> Json:
        """The next line. Raises EOFError at the end."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._unread:
            if not select.select([self._read_fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"nothing more came; {self.lines[-20:]}")
            data = os.read(self._read_fd, 1 << 20)
            if not data:
                raise EOFError
            *whole, self._partial = (self._partial + data).split(b"\n")
            self._unread += [json.loads(line) for line in whole]
        self.lines.append(self._unread.pop(0))
        return self.lines[-1]

    def until(self, kind: str, **members: Any) -> Json:
        """Reads up to the first line of this type with these members."""
        while True:
            line = self.next()
            if line["type"] == kind and all(line.get(name) == value for name, value in members.items()):
                return line

    def ask(self, kind: str, **members: Any) -> Json:
        """Sends a request and reads up to its response."""
        self._ids += 1
        id_ = f"ask-{self._ids}"
        self.send(kind, id=id_, **members)
        return self.until("response", id=id_)

    def prompt(self, message: str, **members: Any) -> list[Json]:
        """Sends a prompt. Returns its records, `done` included."""
        started = self.ask("prompt", message=message, **members)["data"]["prompt"]
        first = len(self.lines)
        self.until("done", prompt=started)
        return [line for line in self.lines[first:] if line.get("prompt") == started]

    def rest(self) -> list[Json]:
        """Reads to the end. Returns what was read by this call."""
        first = len(self.lines)
        try:
            while True:
                self.next()
        except EOFError:
            assert not self._partial, self._partial[-200:]
            return self.lines[first:]

    def close_stdin(self) -> None:
        os.close(self._write_fd)
        self._write_fd = -1

    def close_stdout(self) -> None:
        os.close(self._read_fd)
        self._read_fd = -1

    def close(self) -> None:
        if self._write_fd >= 0:
            self.close_stdin()
        if self._read_fd >= 0:
            self.close_stdout()


def end(running: Running) -> Outcome:
    """Ends the stdin of a server that is a process, and waits for its end."""
    assert running.process.stdin is not None
    running.process.stdin.close()
    outcome = running.finish()
    assert outcome.leftovers == []
    return outcome


@dataclass
class Served:
    """The status and output of a server that has ended."""

    status: int
    lines: list[Json]
    stderr: str
    responses: list[Json] = field(init=False)

    def __post_init__(self) -> None:
        self.responses = [line for line in self.lines if line["type"] == "response"]

    def kinds(self, prompt: str) -> list[str]:
        """The types of the records of a prompt."""
        return [line["type"] for line in self.lines if line.get("prompt") == prompt]


def serve(folder: Path, model: Any, script: Callable[[RpcClient], None], /, **given: Any) -> Served:
    """Runs a server here, and the script of its client in a thread. After the script stdin ends; the rest of the output
    is read then. Raises what the script raises."""
    ours = {name: given.pop(name) for name in ("token", "drain_s", "stalled_s") if name in given}
    given = {"model": "m", "reply_tokens": 100, "system": "s", "discover": False, "keep_session": False, **given}
    stdin, requests = os.pipe()
    lines, stdout = os.pipe()
    client = RpcClient(lines, requests)
    failures: list[BaseException] = []

    def drive() -> None:
        try:
            script(client)
        except BaseException as error:
            failures.append(error)
        if client._write_fd >= 0:
            client.close_stdin()
        if client._read_fd >= 0:
            client.rest()

    with open(folder / "stderr", "w+b") as stderr:
        server = RpcServer(
            Options(**{"cwd": str(folder), "home": folder / "home", **given}),
            version="1",
            make_provider=lambda _loop: model,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr.fileno(),
            owns_process=False,
            **{"drain_s": 0.0, **ours},
        )
        client.has_no_more_to_say = lambda: not server._has_input
        thread = threading.Thread(target=drive)
        thread.start()
        try:
            status = server.run()
        finally:
            os.close(stdout)
            os.close(stdin)
            thread.join(PATIENCE_S)
            client.close()
        if failures:
            raise failures[0]
        stderr.seek(0)
        return Served(status, client.lines, stderr.read().decode())
