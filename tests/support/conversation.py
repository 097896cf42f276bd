"""The host's side of a scripted conversation with one extension process, for tests of the extensions themselves."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path


class Conversation:
    """Starts `argv`; leaving the `with` block kills it if it still lives."""

    def __init__(self, *argv: str | Path, cwd: Path | None = None) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed by __exit__)
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, cwd=cwd, bufsize=0
        )
        self._received = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._stderr):
            pipe.close()

    def send(self, kind: str, **fields: Any) -> None:
        """Writes a frame as a host does: type first, no spaces."""
        self.send_bytes(json.dumps({"type": kind, **fields}, separators=(",", ":")).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        os.write(self.process.stdin.fileno(), data)

    def close_stdin(self) -> None:
        self.process.stdin.close()

    def line(self) -> bytes:
        """The next line, LF included; empty at EOF."""
        deadline = time.monotonic() + PATIENCE_S
        while b"\n" not in self._received:
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"no line within {PATIENCE_S} s; stderr: {self.stderr()}")
            if not (chunk := os.read(self.process.stdout.fileno(), 1 << 20)):
                return b""
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line + b"\n"

    def frame(self) -> dict[str, Any]:
        """The next line, which must be a frame."""
        line = self.line()
        assert line, f"the extension closed its stdout; stderr: {self.stderr()}"
        return json.loads(line)

    def frames_up_to(self, kind: str) -> list[dict[str, Any]]:
        """Everything up to the first frame of this type, which comes last."""
        frames = [self.frame()]
        while frames[-1]["type"] != kind:
            frames.append(self.frame())
        return frames

    def call(self, tool: str, call_id: str = "1", **args: Any) -> str:
        """Calls a tool and returns the text of the next frame, which must be its result."""
        self.send("tool_call", id=call_id, name=tool, args=args)
        result = self.frame()
        assert (result["type"], result["id"]) == ("tool_result", call_id)
        return result["content"][0]["text"]

    def exit_code(self) -> int:
        """Waits for the exit; negative is the signal that killed it."""
        return self.process.wait(PATIENCE_S)

    def stderr(self) -> str:
        """All that it has written there so far."""
        return os.pread(self._stderr.fileno(), 1 << 24, 0).decode(errors="replace")
