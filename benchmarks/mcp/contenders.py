"""The callers of the tool `echo` of a child: a floor of bytes, the supervisor, and the official client of Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from benchmarks.hosts import Elsewhere, ToolCalls
from benchmarks.workshop import CHILDREN, PROGRAMS, Workshop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.placement import Placement
    from supervisor.supervisor import Supervisor

TEXT = "git status --short && git diff --stat"
ARGS = json.dumps({"text": TEXT}, separators=(",", ":")).encode()
CLIENT = PROGRAMS / "mcp_client.py"
SERVERS = CHILDREN / "mcp"
MISSING = "the official client is not here (pip install mcp): left out"
_INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "floor", "version": "0"}}
OPENINGS = {
    "zot": b"",
    "mcp": json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _INITIALIZE}).encode() + b"\n",
}
UP = {"zot": b'"ready"', "mcp": b"serverInfo"}
"""The output of a child once it takes calls."""
CALLS = {
    "zot": b'{"type":"tool_call","id":"%d","name":"echo","args":' + ARGS + b"}\n",
    "mcp": b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":' + ARGS + b","
    b'"_meta":{"progressToken":1}}}\n',
}


def children(shop: Workshop, dialect: str) -> dict[str, list[str]]:
    """The children with the tool `echo`, by language: those of both dialects are written in the same way."""
    found = {}
    if shop.has_compiler:
        source = SERVERS / "reference.c" if dialect == "mcp" else CHILDREN / "echo.c"
        found["C"] = [shop.compiled(source)]
    if shutil.which("node"):
        found["Node"] = ["node", str(SERVERS / "reference.js" if dialect == "mcp" else CHILDREN / "echo.js")]
    found["Python"] = shop.python(PROGRAMS / "mcp_echo.py" if dialect == "mcp" else CHILDREN / "echo.py")
    return found


def has_client() -> bool:
    return find_spec("mcp") is not None


class Bytes:
    """The floor: `os.write` of the bytes of a call, `os.read` of those of its answer, and no look at them."""

    def __init__(self, argv: Sequence[str], dialect: str) -> None:
        self._call = CALLS[dialect]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.write(self._to, OPENINGS[dialect])
        greeting = b""
        while UP[dialect] not in greeting or not greeting.endswith(b"\n"):
            data = os.read(self._from, 65536)
            if not data:
                raise RuntimeError(f"{argv} ended before it was ready")
            greeting += data

    def measure(self, count: int, gap_s: float) -> Sequence[int]:  # noqa: ARG002
        samples: list[int] = []
        to, from_, clock = self._to, self._from, time.perf_counter_ns
        for number in range(1, count + 1):
            frame = self._call % number
            start = clock()
            os.write(to, frame)
            while not os.read(from_, 65536).endswith(b"\n"):
                pass
            samples.append(clock() - start)
        return samples

    def place(self, placement: Placement) -> None:
        placement.apply([os.getpid()], [self._process.pid])

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def tool_calls(supervisor: Supervisor) -> ToolCalls:
    """Calls of the only tool."""
    (name,) = [name for name in supervisor.registrations.tools() if name.endswith("echo")]
    return ToolCalls(supervisor, name, ARGS)


def official(argv: Sequence[str], count: int = 1) -> Elsewhere:
    """The official client of Python."""
    return Elsewhere([sys.executable, str(CLIENT), str(count), *argv])
