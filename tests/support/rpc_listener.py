"""`zot rpc --listen` as a process in a test, and clients that connect to it. Its model does what a prompt says."""

from __future__ import annotations

import os
import re
import signal
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psutil

from supervisor.control import unix_socket
from tests.support.batch_command import MODEL, obey
from tests.support.patience import PATIENCE_S
from tests.support.rpc_client import RpcClient
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Outcome, Running, Zot


class SocketClient(RpcClient):
    """A client of the socket at `path`."""

    def __init__(self, path: Path) -> None:
        self.sock = unix_socket.connect(path, PATIENCE_S)
        self.sock.settimeout(None)
        super().__init__(self.sock.fileno(), self.sock.fileno())

    def close_stdin(self) -> None:
        """Says that it sends no more."""
        self.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.sock.close()

    def begin(self, prompt: str) -> str:
        """Sends a prompt. Returns its id."""
        return str(self.ask("prompt", message=prompt)["data"]["prompt"])

    def text(self, prompt: str) -> str:
        """The answer to a prompt."""
        return next(str(line["text"]) for line in self.prompt(prompt) if line["type"] == "result")


class Listening:
    """A listener that serves."""

    def __init__(self, running: Running, path: Path) -> None:
        self.running = running
        self.path = path
        self._clients: list[SocketClient] = []

    def connect(self) -> SocketClient:
        self._clients.append(SocketClient(self.path))
        return self._clients[-1]

    def pid_of(self, client: SocketClient) -> int:
        """The pid of the process of this client's conversation."""
        call = client.ask("call_tool", name="bash", args={"command": "echo $PPID is it"})
        return int(re.findall(r"^(\d+) is it", call["data"]["content"][0]["text"], re.MULTILINE)[0])

    def template(self) -> psutil.Process:
        """The process of its template; its forks have the same command line."""
        children = psutil.Process(self.running.pid).children()
        return next(each for each in children if any("template_main" in word for word in each.cmdline()))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Outcome:
        self.running.signal(number)
        outcome = self.running.finish()
        assert outcome.leftovers == []
        assert not os.path.lexists(self.path)
        return outcome

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def listening(
    zot: Zot, server: MessagesServer | None = None, *flags: str | Path, path: Path | None = None, **popen: Any
) -> Iterator[Listening]:
    """Starts a listener with the model of `server`, or with what the flags say; waits until it serves."""
    path = path or zot.folder / "s"
    model: tuple[str, ...] = ()
    if server is not None:
        server.otherwise = obey
        model = ("--base-url", server.base_url, "--api-key", "k", "--provider=anthropic", f"--model={MODEL}")
    with zot.start("rpc", "--listen", path, *model, *flags, **popen) as running:
        wait_until(lambda: "serving" in running.errors() or running.process.poll() is not None)
        assert running.process.poll() is None, running.errors()
        begun = Listening(running, path)
        try:
            yield begun
        finally:
            begun.close()
