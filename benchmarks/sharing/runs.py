"""Runs without an agent that use the extensions of a host: raw ones, which speak the attach protocol themselves, and
those of a supervisor."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from benchmarks.sharing.stack import PATIENCE_S
from supervisor.loop.host_link import HostConnection
from supervisor.loop.loop import Loop
from supervisor.sharing.assignment import Terms, assign
from supervisor.sharing.find_host import attach_to
from supervisor.supervisor import Supervisor
from wire.dialects import attach
from wire.dialects.attach import PROTOCOL, ext_head
from wire.dialects.base import HostInfo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

VERSION = "0"
VERDICT = (
    b'{"type":"event_intercept","id":"%d","event":"tool_call","tool_id":"toolu_01A09q90qw90lq917835lq9",'
    b'"tool_name":"bash","tool_args":{"command":"git status --short && git diff --stat"}}'
)
TOOL_CALL = b'{"type":"tool_call","id":"%d","name":"echo","args":{"text":"git status --short && git diff --stat"}}'


class RawRun:
    """A connection that blocks. Takes one extension; `line` is an `ext` line for it with a frame."""

    def __init__(self, path: Path, session_id: str, cwd: str = "/tmp", extension: str = "") -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(str(path))
        self._rest = b""
        self._number = 0
        self._head = ext_head(extension)
        if not extension:
            return
        self.sock.sendall(attach.encode(attach.Attach(PROTOCOL, VERSION, os.getpid(), session_id, cwd)))
        self._expect(attach.Attached)
        self.sock.sendall(attach.encode(attach.Take(extension)))
        self._expect(attach.Registered)

    @classmethod
    def of_relay(cls, path: Path, extension: str) -> RawRun:
        """A connection to `programs/relay.py`, which knows the frames alone."""
        run = cls(path, "")
        run._head = ext_head(extension)
        return run

    def line(self, frame: bytes) -> bytes:
        return b"%s%s}\n" % (self._head, frame)

    def _expect(self, kind: type[Any]) -> None:
        while True:
            said = attach.decode_from_host(self._read_line())
            if isinstance(said, kind):
                return
            if isinstance(said, attach.Refused) or (isinstance(said, attach.State) and said.state == "gone"):
                raise RuntimeError(f"not {kind.__name__}: {said}")

    def _read_line(self) -> bytes:
        while b"\n" not in self._rest:
            data = self.sock.recv(65536)
            if not data:
                raise RuntimeError("the host has closed the connection")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def measure(self, template: bytes, count: int, gap_s: float = 0.0) -> list[int]:
        """Nanoseconds of each round trip, each after a pause of `gap_s` seconds. `template` is a line with a place for
        the id."""
        samples = []
        first = self._number + 1
        self._number += count
        send, receive, clock = self.sock.send, self.sock.recv, time.perf_counter_ns
        self.sock.settimeout(None)
        for number in range(first, first + count):
            line = template % number
            if gap_s:
                time.sleep(gap_s)
            start = clock()
            send(line)
            answer = receive(65536)
            while not answer.endswith(b"\n"):
                answer += receive(65536)
            samples.append(clock() - start)
        assert b'"id":"%d"' % self._number in answer, answer
        return samples

    def stream(self, templates: Sequence[bytes], count: int, at_once: int) -> None:
        """Sends `count` lines of the templates by turns, and reads the answers. Always `at_once` are open."""
        left, open_ = count, 0
        self.sock.settimeout(PATIENCE_S)
        while left or open_:
            sent = []
            while left and open_ < at_once:
                self._number += 1
                sent.append(templates[self._number % len(templates)] % self._number)
                left -= 1
                open_ += 1
            if sent:
                self.sock.sendall(b"".join(sent))
            answers = self.sock.recv(65536)
            if not answers:
                raise RuntimeError("the host has closed the connection")
            open_ -= answers.count(b"\n")

    def close(self) -> None:
        self.sock.close()


class HostedRun:
    """A supervisor whose extensions are those of a host."""

    def __init__(self, path: Path, session_id: str, folder: Path, loop: Loop | None = None) -> None:
        cwd = str(folder)
        sock, attached = attach_to(str(path), folder, cwd=cwd, session_id=session_id, version=VERSION)
        self.loop = loop or Loop()
        self.connection = HostConnection(self.loop, sock, attached.pid)
        hosted = assign((), attached, Terms(cwd), os.environ).hosted
        found = [_with_link(each.found, self.connection, each.name) for each in hosted]
        host = HostInfo(VERSION, "replay", "none", cwd, session_id)
        self.supervisor = Supervisor(self.loop, host=host, logs=folder / "logs")
        self.supervisor.start(found, {})

    def settle(self) -> None:
        self.supervisor.settle(self.loop.clock() + PATIENCE_S)
        late = [each.name for each in self.supervisor.extensions if not each.was_ready]
        assert not late, late

    def close(self) -> None:
        self.supervisor.stop()
        self.connection.close()


def _with_link(found: Any, connection: HostConnection, name: str) -> Any:
    return replace(found, link=connection.link(name))
