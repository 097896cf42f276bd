"""A child that answers lines with lines, as a client of `zot rpc` sees it, with the times at which lines came."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import psutil

from agent.cassette import CassetteRecorder
from benchmarks.workshop import PROGRAMS
from tests.support.replay_script import USAGE, Script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

READ = 256 * 1024
TIMEOUT_S = 60.0
DELTA, DONE = b'{"type":"text_delta"', b'{"type":"done"'


class Heard(NamedTuple):
    """When the answer to one prompt came, in seconds on the monotonic clock."""

    asked: float
    first: float
    """The first record: not the response."""
    delta: float
    """The first piece of text."""
    done: float
    lines: int


class Peer:
    """Starts the program. As a context manager it ends the program by the end of stdin."""

    def __init__(self, argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=env)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._partial = b""
        self._waiting: list[bytes] = []
        self._at = 0.0
        self.view = psutil.Process(self.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.process.communicate(timeout=TIMEOUT_S)
        finally:
            self.process.kill()
            self.process.communicate()

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, kind: str, **members: Any) -> float:
        """Sends a request. Returns the time just before it was written."""
        line = json.dumps({"type": kind, **members}).encode() + b"\n"
        now = time.monotonic()
        os.write(self._stdin, line)
        return now

    def read(self, size: int = READ) -> bytes:
        """The bytes that have come, `size` at most. Raises `RuntimeError` at the end of stdout and if nothing comes."""
        if not select.select([self._stdout], [], [], TIMEOUT_S)[0]:
            raise RuntimeError(f"nothing from {self.process.args!r} for {TIMEOUT_S:g} s")
        data = os.read(self._stdout, size)
        self._at = time.monotonic()
        if not data:
            raise RuntimeError(f"{self.process.args!r} has ended with {self.process.wait()}")
        return data

    def line(self) -> tuple[float, bytes]:
        """The next line and when it came."""
        while not self._waiting:
            *self._waiting, self._partial = (self._partial + self.read()).split(b"\n")
        return self._at, self._waiting.pop(0)

    def until(self, found: Callable[[bytes], bool]) -> float:
        """Reads up to the first line of which this holds. Returns when it came."""
        while True:
            at, line = self.line()
            if found(line):
                return at

    def ask(self, kind: str, **members: Any) -> float:
        """Sends a request and reads its response. Returns the seconds."""
        asked = self.send(kind, **members)
        return self.until(lambda line: line.startswith(b'{"type":"response"')) - asked

    def prompt(self, message: str) -> Heard:
        """Sends a prompt and reads its records."""
        asked = self.send("prompt", message=message)
        first = delta = 0.0
        lines = 0
        while True:
            at, line = self.line()
            lines += 1
            if not first and not line.startswith((b'{"type":"response"', b'{"type":"session"')):
                first = at
            if not delta and line.startswith(DELTA):
                delta = at
            if line.startswith(DONE):
                return Heard(asked, first, delta, at, lines)

    # --- what it uses -------------------------------------------------------------------------------------

    def cpu_s(self) -> float:
        used = self.view.cpu_times()
        return float(used.user + used.system)

    def rss(self) -> int:
        """Bytes."""
        return int(self.view.memory_info().rss)


# --- what peers are made of -----------------------------------------------------------------------------------


def zot() -> list[str]:
    """The command of this environment."""
    installed = Path(sys.executable).with_name("zot")
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "pyzot"]


def zot_env(folder: Path) -> dict[str, str]:
    """The environment of a user without settings, extensions and credentials. Bytecode is compiled once."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "ZOT"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, "ZOT_HOME": str(home), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def line_server(path: Path) -> Peer:
    """A child that answers each line with the lines of this file."""
    return Peer([sys.executable, "-I", "-S", str(PROGRAMS / "line_server.py"), str(path)])


def request(project: Path) -> dict[str, Any]:
    """The server's request to the model for the prompt `go` in an empty conversation."""
    return dict(Script(project).params())


def recorded(path: Path, project: Path, answer: str, count: int, *, chunks: int) -> Path:
    """Writes a cassette with the same exchange so often: the prompt `go` in an empty conversation."""
    asked = request(project)
    size = -(-len(answer) // chunks)
    pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
    reply: list[dict[str, Any]] = [
        {"type": "message_start", "usage": USAGE},
        *({"type": "text_delta", "delta": piece} for piece in pieces),
        {"type": "final", "content": [{"type": "text", "text": answer}], "stop_reason": "end_turn", "usage": USAGE},
    ]
    with CassetteRecorder(path, cwd=str(project)) as recorder:
        for _ in range(count):
            recorder.add(asked, reply)
    return path
