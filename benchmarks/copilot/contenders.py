"""The callers of the hook and the tool of a Copilot extension: a floor of bytes, a minimal host in Node, and zot."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from typing import TYPE_CHECKING, Any

from benchmarks.hosts import EVENT, Elsewhere, Supervised, ToolCalls
from benchmarks.workshop import PROGRAMS, ROOT, SESSION
from supervisor.discovery.copilot.sdk import BOOTSTRAP
from supervisor.discovery.found_extension import FoundExtension, Scope
from wire.dialects.copilot.facade import STARTED
from wire.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.placement import Placement
    from benchmarks.workshop import Workshop

SDK = ROOT / ".venv" / "copilot-sdk" / "newest" / "node_modules" / "@github" / "copilot-sdk"
"""`make copilot-sdk` installs it."""
MISSING = "there is no Node, or no SDK (make copilot-sdk)"
EXTENSION = PROGRAMS / "copilot_guard" / "extension.mjs"
HOST = PROGRAMS / "copilot_host.mjs"
KINDS = ("hook", "call")
TEXT = "git status --short && git diff --stat"
ARGS = json.dumps({"text": TEXT}, separators=(",", ":")).encode()
LENGTH = re.compile(rb"Content-Length: (\d+)\r\n\r\n")


def environment() -> dict[str, str]:
    """The environment of an extension, the same for all contenders."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "SESSION_ID": SESSION, "EXTENSION_PATH": str(EXTENSION), "COPILOT_SDK_PATH": str(SDK)}


def extensions(folder: Path, count: int) -> list[FoundExtension]:
    """That number of extensions; only the first one gets its tool, as a tool's name is registered once."""
    return [
        FoundExtension(
            folder,
            Manifest(name=f"guard{number}", exec="node", args=(str(BOOTSTRAP),), dialect="copilot"),
            Scope.EXPLICIT,
            number,
            command=("node", str(BOOTSTRAP)),
            set_env=environment() | {"ECHO": f"echo{number}"},
        )
        for number in range(count)
    ]


class Bytes:
    """The floor: `os.write` of the bytes of a question, `os.read` of those of its answer, and no more look at them than
    where they end."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._process = subprocess.Popen(
            ["node", str(BOOTSTRAP)], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        joined = False
        while not joined:
            message = json.loads(self._read())
            results: dict[str, Any] = {
                "connect": {"ok": True, "protocolVersion": 3, "version": "0"},
                "ping": {"message": "", "timestamp": 0, "protocolVersion": 3},
                "session.resume": {"sessionId": SESSION, "capabilities": {}},
            }
            joined = message["method"] == "session.resume"
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
            os.write(self._to, _framed(json.dumps(answer).encode()))
        while json.loads(self._read()).get("method") != STARTED:
            pass

    def _read(self) -> bytes:
        """One message. Header and body are written apart."""
        data = b""
        while (header := LENGTH.match(data)) is None or len(data) < header.end() + int(header[1]):
            piece = os.read(self._from, 65536)
            if not piece:
                raise RuntimeError("the extension ended before its time")
            data += piece
        return data[header.end() :]

    def measure(self, count: int, gap_s: float) -> Sequence[int]:  # noqa: ARG002
        samples: list[int] = []
        to, read, clock = self._to, self._read, time.perf_counter_ns
        written = [_framed(_question(self._kind, number)) for number in range(count)]
        for frame in written:
            start = clock()
            os.write(to, frame)
            answer = read()
            samples.append(clock() - start)
            if self._kind == "call":
                done = b'{"jsonrpc":"2.0","id":%d,"result":{"success":true}}' % json.loads(answer)["id"]
                os.write(to, _framed(done))
        return samples

    def place(self, placement: Placement) -> None:
        placement.apply([os.getpid()], [self._process.pid])

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _question(kind: str, number: int) -> bytes:
    params: dict[str, Any]
    if kind == "hook":
        args = {"command": TEXT}
        hook = {"sessionId": SESSION, "timestamp": 0, "cwd": "/", "toolName": "bash", "toolArgs": args}
        params = {"sessionId": SESSION, "hookType": "preToolUse", "input": hook}
        message = {"jsonrpc": "2.0", "id": number, "method": "hooks.invoke", "params": params}
    else:
        data = {"requestId": f"r{number}", "sessionId": SESSION, "toolCallId": "c", "toolName": "echo"}
        event: dict[str, Any] = {"id": "e", "timestamp": "2026-01-01T00:00:00.000Z", "parentId": None}
        event |= {"type": "external_tool.requested", "data": {**data, "arguments": {"text": TEXT}}}
        message = {"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": SESSION, "event": event}}
    return json.dumps(message, separators=(",", ":")).encode()


def node_host(kind: str = "", count: int = 1) -> Elsewhere:
    """The minimal host."""
    return Elsewhere(["node", str(HOST), str(count), str(BOOTSTRAP)], kind, environment())


class Hooks(Supervised):
    """The product's own path: `Supervisor.intercept`, which asks the hook."""

    def measure(self, count: int, gap_s: float) -> Sequence[int]:  # noqa: ARG002
        samples: list[int] = []
        intercept, clock = self.supervisor.intercept, time.perf_counter_ns
        for _ in range(count):
            start = clock()
            judgement = intercept(EVENT)
            samples.append(clock() - start)
            assert not judgement.is_blocked
            assert not judgement.missing
        return samples


def supervised(shop: Workshop, kind: str) -> Supervised:
    started = shop.started(extensions(shop.folder, 1), environment())
    return Hooks(started) if kind == "hook" else ToolCalls(started, "echo", ARGS)
