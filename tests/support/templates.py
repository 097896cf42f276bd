"""Templates under test, and their forks with all that they said."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.cleanup.env_marks import TOKEN
from supervisor.loop.loop import Loop
from supervisor.process.teardown import stop_all
from supervisor.template import protocol
from supervisor.template.client import Template
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.process.child import ExitStatus, SpawnError

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("small_template.py")
MARK = "token of a template"


def command(*options: str) -> list[str]:
    return [sys.executable, "-P", str(PROGRAM), *options]


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), TOKEN: MARK, "TZ": "UTC"}


class Forked:
    """A fork, its output and its end."""

    def __init__(self, warm: Warm, entry: str, argument: bytes = b"", **options: Any) -> None:
        self.warm = warm
        self.output = b""
        self.ends: list[ExitStatus | SpawnError] = []
        options.setdefault("cwd", "/")
        options.setdefault("env", None)
        self.child = warm.template.fork(
            entry, argument, on_stdout=self._on_stdout, on_exit=self.ends.append, on_failed=self.ends.append, **options
        )

    def _on_stdout(self, data: bytes) -> None:
        self.output += data

    def until_said(self, text: bytes = b"\n") -> Forked:
        self.warm.until(lambda: text in self.output or bool(self.ends))
        assert text in self.output, self.ends
        return self

    def until_end(self) -> Any:
        """The exit, or the error."""
        self.warm.until(lambda: bool(self.ends))
        (end,) = self.ends
        assert not self.child.is_running
        return end

    def facts(self) -> dict[str, Any]:
        end = self.until_end()
        assert getattr(end, "code", None) == 0, (end, self.output)
        return dict(json.loads(self.output))


class Warm:
    """A template with a loop of its own."""

    def __init__(self, argv: list[str]) -> None:
        self.loop = Loop()
        self.template = Template(self.loop, argv, env=environment())

    def fork(self, entry: str, argument: bytes = b"", **options: Any) -> Forked:
        return Forked(self, entry, argument, **options)

    def until(self, predicate: Callable[[], bool]) -> None:
        assert self.loop.run_until(predicate, self.loop.clock() + PATIENCE_S)

    def serving(self) -> Warm:
        """Waits until the template serves."""
        assert self.fork("returns").until_end().code == 0
        return self


@contextmanager
def warm(*options: str) -> Iterator[Warm]:
    made = Warm(command(*options))
    try:
        yield made
    finally:
        stop_all(made.loop, [made.template])
        made.until(lambda: not made.loop.children)
        made.loop.close()


class Raw:
    """A template whose parent speaks the protocol by hand, and blocks."""

    def __init__(self, *options: str) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        with theirs:
            self.process = subprocess.Popen(
                [*command(*options), str(theirs.fileno())],
                env=environment(), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def __enter__(self) -> Raw:
        assert isinstance(self.next(), protocol.Ready)
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self.process.communicate()

    def ask(self, number: int, entry: str, argument: bytes = b"", fds: list[int] | None = None, **fields: Any) -> None:
        request = protocol.Fork(number, entry, argument, fields.get("cwd", b"/"), fields.get("env"), None)
        null = os.open(os.devnull, os.O_RDWR)
        try:
            protocol.send_request(self.socket, request, [null, null, null] if fds is None else fds)
        finally:
            os.close(null)

    def next(self) -> Any:
        received = protocol.receive(self.socket)
        for fd in received.fds:
            os.close(fd)
        return protocol.decode_reply(received.data) if received.data else None
