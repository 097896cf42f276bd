"""A small host of Copilot extensions that speaks their wire by hand: what the real SDK says is held against it, and so
our dialect is not tested against itself."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

ROOT = Path(__file__).parents[2]
BOOTSTRAP = ROOT / "supervisor" / "discovery" / "copilot" / "launch" / "bootstrap.mjs"
CHILDREN = ROOT / "tests" / "children" / "copilot"
SDKS = ROOT / ".venv" / "copilot-sdk"
"""Where `make copilot-sdk` installs the oldest and the newest SDK."""
VERSIONS = ("oldest", "newest")
HEADER = re.compile(rb"Content-Length: (\d+)\r\n\r\n")
SESSION = "session-1"
TIMESTAMP = 1_700_000_000_123
"""Of each hook, in ms."""
Message = dict[str, Any]


def sdk(version: str = "newest") -> Path:
    """The folder of an installed SDK. Skips the test where there is no Node or no SDK."""
    if not shutil.which("node"):
        pytest.skip("no node here")
    folder = SDKS / version / "node_modules" / "@github" / "copilot-sdk"
    if not folder.is_dir():
        pytest.skip("the Copilot SDK is not installed: make copilot-sdk")
    return folder


def extension(name: str) -> Path:
    """The file of one of the extensions in tests/children/copilot."""
    return CHILDREN / name / "extension.mjs"


class RefusedError(Exception):
    """A method that the host answers with an error."""


class CopilotHost:
    """Runs one extension. Ends it on exit."""

    def __init__(
        self,
        file: Path,
        sdk: Path,
        cwd: Path,
        *,
        env: dict[str, str] | None = None,
        workspace: str | None = "/workspace",
        node: tuple[str, ...] = ("node",),
    ) -> None:
        """`cwd` is the session's working directory, and gets the extension's stderr in `stderr.log`."""
        self.answers: dict[str, Callable[[Message], Any]] = {
            "connect": lambda _: {"ok": True, "protocolVersion": 3, "version": "1"},
            "ping": lambda params: {"message": params.get("message"), "timestamp": 1, "protocolVersion": 3},
            "session.resume": lambda _: {"sessionId": SESSION, "workspacePath": workspace, "capabilities": {}},
            "session.log": lambda _: {"eventId": "event-1"},
            "session.send": lambda _: {"messageId": "message-1"},
        }
        self.received: list[Message] = []
        """All requests of the extension, in order."""
        self.noise = b""
        """Bytes on stdout between messages."""
        self.results: dict[int, Message] = {}
        """Responses of the extension by the id of the request."""
        self.cwd = cwd
        self._last_id = 0
        self._buffer = b""
        self._stderr = cwd / "stderr.log"
        variables = {"SESSION_ID": SESSION, "EXTENSION_PATH": str(file), "COPILOT_SDK_PATH": str(sdk), **(env or {})}
        with self._stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*node, str(BOOTSTRAP)],
                cwd=cwd,
                env={**os.environ, **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    @property
    def stderr(self) -> str:
        return self._stderr.read_text("utf-8", "replace")

    # Messages

    def write(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
        self.write_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def write_raw(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)

    def run_until(self, is_done: Callable[[], Any]) -> Any:
        """Reads and answers until `is_done()` is true, and returns what it returns. Fails if stdout ends before."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := is_done()):
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"stdout has ended, or nothing came: {self.received}\n{self.stderr}")
        return value

    def _read(self, within_s: float) -> bool:
        stdout = self.process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], max(within_s, 0))[0]:
            return False
        if not (data := os.read(stdout.fileno(), 1 << 16)):
            return False
        self._buffer += data
        while (header := HEADER.search(self._buffer)) and len(self._buffer) >= header.end() + int(header[1]):
            self.noise += self._buffer[: header.start()]
            end = header.end() + int(header[1])
            body, self._buffer = self._buffer[header.end() : end], self._buffer[end:]
            self._take(json.loads(body))
        return True

    def _take(self, message: Message) -> None:
        if "method" not in message:
            self.results[message["id"]] = message
            return
        self.received.append(message)
        if "id" not in message:
            return
        answer = self.answers.get(message["method"], lambda _: {"success": True})
        try:
            self.write({"id": message["id"], "result": answer(message.get("params") or {})})
        except RefusedError as error:
            self.write({"id": message["id"], "error": {"code": -32000, "message": str(error)}})

    def asked(self, method: str, **params: Any) -> list[Message]:
        """The params of all requests of a method that have these params among theirs."""
        return [
            message["params"]
            for message in self.received
            if message["method"] == method and params.items() <= message["params"].items()
        ]

    def awaited(self, method: str, **params: Any) -> Message:
        """The params of the first request of a method with these params; waits for it."""
        return self.run_until(lambda: self.asked(method, **params))[0]

    def request(self, method: str, params: Message) -> Message:
        """Asks the extension, and returns the whole response."""
        self._last_id += 1
        number = self._last_id
        self.write({"id": number, "method": method, "params": params})
        return self.run_until(lambda: self.results.get(number))

    # Actions of a host

    def joined(self) -> Message:
        """The params of the join; waits for it and for the answer to have been read."""
        params = self.awaited("session.resume")
        self.request("zot.ping", {})
        return params

    def tell(self, event: str, data: Message) -> None:
        """Sends an event of the session."""
        params = {"id": "event-1", "timestamp": "2026-01-01T00:00:00Z", "parentId": None, "type": event, "data": data}
        self.write({"method": "session.event", "params": {"sessionId": SESSION, "event": params}})

    def call(self, tool: str, arguments: Message | None = None, call_id: str = "call-1") -> Message:
        """Calls a tool and returns the params of the answer: with `result` or `error`."""
        self.begin_call(tool, arguments, call_id)
        return self.awaited("session.tools.handlePendingToolCall", requestId=call_id)

    def begin_call(self, tool: str, arguments: Message | None = None, call_id: str = "call-1") -> None:
        data = {"requestId": call_id, "sessionId": SESSION, "toolCallId": f"tool-{call_id}", "toolName": tool}
        self.tell("external_tool.requested", {**data, "arguments": arguments or {}})

    def hook(self, kind: str, **values: Any) -> Any:
        """Asks a hook and returns its output: None if it has none."""
        base = {"sessionId": SESSION, "timestamp": TIMESTAMP, "cwd": str(self.cwd)}
        params = {"sessionId": SESSION, "hookType": kind, "input": {**base, **values}}
        return self.request("hooks.invoke", params)["result"].get("output")

    def permission(self, request: Message, request_id: str = "permission-1") -> Message:
        """Asks for a permission and returns the result."""
        self.tell("permission.requested", {"requestId": request_id, "permissionRequest": request})
        answer = self.awaited("session.permissions.handlePendingPermissionRequest", requestId=request_id)
        return answer["result"]

    def command(self, name: str, args: str = "", request_id: str = "command-1") -> Message:
        """Runs a command and returns the params of its answer."""
        data = {"requestId": request_id, "commandName": name, "command": f"/{name} {args}", "args": args}
        self.tell("command.execute", data)
        return self.awaited("session.commands.handlePendingCommand", requestId=request_id)

    def end(self) -> int:
        """Closes stdin, reads what is left and returns the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.exited()

    def exited(self) -> int:
        """Reads until stdout ends, and returns the exit status."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline - time.monotonic()):
            pass
        self.noise += self._buffer
        return self.process.wait(max(deadline - time.monotonic(), 0.1))

    def terminate(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
