"""A client of `zot mcp serve` that says exactly what a test wants."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from tests.support.zot_process import Outcome, Zot


class McpClient:
    """Starts the server with these flags, and says `initialize` unless it is modern."""

    def __init__(self, zot: Zot, *flags: str | Path, is_modern: bool = False) -> None:
        self.running = zot.start("mcp", "serve", *flags, stdin=subprocess.PIPE)
        self.notifications: list[Any] = []
        self._answers: dict[Any, Any] = {}
        self._number = 0
        self._meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"} if is_modern else {}

    def __enter__(self) -> Self:
        self.running.__enter__()
        if not self._meta:
            self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *exc: object) -> None:
        self.running.__exit__(*exc)

    @property
    def pid(self) -> int:
        return self.running.pid

    def send(self, message: Any) -> None:
        stdin = self.running.process.stdin
        assert stdin is not None
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    def begin(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> int:
        """Sends a request; returns its id."""
        self._number += 1
        params = dict(params or {})
        if self._meta or meta:
            params["_meta"] = {**self._meta, **meta}
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, id_: int) -> Any:
        """The answer to this request: its result or its error."""
        while id_ not in self._answers:
            self._read()
        said = self._answers.pop(id_)
        return said.get("result", said.get("error"))

    def ask(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> Any:
        return self.answer(self.begin(method, params, **meta))

    def call(self, tool: str, **args: Any) -> tuple[str, bool]:
        """The text of a tool's result, and whether it is an error."""
        return self.result(self.begin("tools/call", {"name": tool, "arguments": args}))

    def result(self, id_: int) -> tuple[str, bool]:
        result = self.answer(id_)
        return "".join(block["text"] for block in result["content"]), result["isError"]

    def notification(self, method: str) -> Any:
        """The parameters of the next notification of this method."""
        while not (found := [each for each in self.notifications if each["method"] == method]):
            self._read()
        self.notifications.remove(found[0])
        return found[0].get("params")

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.ask("tools/list")["tools"]]

    def _read(self) -> None:
        line = self.running._read_line(time.monotonic() + PATIENCE_S)
        assert line, f"the server has ended: {self.running.errors()}"
        said = json.loads(line)
        if "method" in said:
            self.notifications.append(said)
        else:
            self._answers[said["id"]] = said

    def finish(self) -> Outcome:
        """Closes stdin, and waits for the end."""
        assert self.running.process.stdin is not None
        self.running.process.stdin.close()
        return self.running.finish()
