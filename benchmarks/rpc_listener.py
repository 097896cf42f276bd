"""A new conversation: on the socket of a listener, and as a process of its own, by turns."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import closing
from statistics import median
from typing import TYPE_CHECKING, Self

import psutil

from benchmarks.report import Report, Table
from benchmarks.rpc_peer import TIMEOUT_S, Peer, recorded, zot, zot_env
from tests.support.messages_server import MessagesServer, text_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.workshop import Workshop

ROUNDS, QUICK_ROUNDS = 20, 1
ANSWER = "The project sums numbers, one per line, and prints their mean. " * 6
OWN, CONNECTED = "zot rpc, a process of its own", "a connection to zot rpc --listen"


class Connection(Peer):
    """A client of the socket at `path`."""

    def __init__(self, path: Path) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.settimeout(TIMEOUT_S)
        self._sock.connect(str(path))
        self._sock.setblocking(True)
        self._stdin = self._stdout = self._sock.fileno()
        self._partial = b""
        self._waiting: list[bytes] = []
        self._at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()


class Listener:
    """A listener with these flags, from its start until it serves to its end."""

    def __init__(self, path: Path, flags: Sequence[str], *, cwd: Path, env: dict[str, str]) -> None:
        self.path = path
        self._process = subprocess.Popen(
            [*zot(), "rpc", "--listen", str(path), *flags], cwd=cwd, env=env, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + TIMEOUT_S
        while not path.exists():
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError("the listener does not serve")
            time.sleep(0.01)

    def conversations(self) -> Iterator[psutil.Process]:
        """Its forks, and model workers."""
        for template in psutil.Process(self._process.pid).children():
            yield from template.children()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(TIMEOUT_S)


def listener(report: Report, workshop: Workshop, claims: Claims, server: MessagesServer, *, quick: bool) -> None:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    project = workshop.folder / "listened"
    project.mkdir()
    env = zot_env(workshop.folder)
    cassette = recorded(workshop.folder / "first.jsonl", project, ANSWER, 1, chunks=20)
    table = Table(
        "a new conversation: from the start of the process, or from the connect; medians",
        ("", "hello answered ms", "replayed prompt done ms", "prompt with model done ms", "own memory MiB"),
    )
    replayed = ["--replay", str(cassette)]
    modelled = ["--api-key", "k", "--base-url", server.base_url]
    found: dict[str, list[list[float]]] = {OWN: [[], [], [], []], CONNECTED: [[], [], [], []]}
    with (
        closing(Listener(workshop.folder / "replayed.sock", replayed, cwd=project, env=env)) as replaying,
        closing(Listener(workshop.folder / "modelled.sock", modelled, cwd=project, env=env)) as asking,
    ):
        for number in range(rounds + 1):
            report.progress(f"new conversations, round {number} of {rounds}")
            for name in (OWN, CONNECTED):
                columns = found[name]
                began = time.monotonic()
                with _peer(name, replaying, replayed, project, env) as peer:
                    peer.ask("hello")
                    hello = time.monotonic() - began
                    done = peer.prompt("go").done - began
                    own = _memory(peer if name == OWN else None, replaying)
                server.add(text_reply(ANSWER))
                began = time.monotonic()
                with _peer(name, asking, modelled, project, env) as peer:
                    with_model = peer.prompt("go").done - began
                if number:  # the first round compiles, and waits for the templates
                    for column, value in zip(
                        columns, (1000 * hello, 1000 * done, 1000 * with_model, own / 2**20), strict=True
                    ):
                        column.append(value)
    for name, columns in found.items():
        table.add(name, *map(median, columns))
    ratios = [
        median(mine / theirs for mine, theirs in zip(*pair, strict=True))
        for pair in zip(found[CONNECTED], found[OWN], strict=True)
    ]
    table.add("ratio", *ratios)
    report.show(table)
    claims.add("a new conversation by a listener: hello in at most 0.25 x", f"{ratios[0]:.3f} x", ratios[0] <= 0.25)
    claims.add("its first replayed prompt: at most 0.25 x", f"{ratios[1]:.3f} x", ratios[1] <= 0.25)
    claims.add("its first prompt with the model: at most 0.15 x", f"{ratios[2]:.3f} x", ratios[2] <= 0.15)


def _peer(name: str, at: Listener, flags: Sequence[str], project: Path, env: dict[str, str]) -> Peer:
    return Connection(at.path) if name == CONNECTED else Peer([*zot(), "rpc", *flags], cwd=project, env=env)


def _memory(peer: Peer | None, at: Listener) -> int:
    """Bytes that only the process of the conversation has."""
    processes = at.conversations() if peer is None else [peer.view]
    return max((int(each.memory_full_info().uss) for each in processes), default=0)
