"""Session files in zot's format: one JSON object per line, appended while the run goes on.

Better than zot's on purpose: each message is on disk (fsync) before the run goes on, a lock marks the file as in use,
no empty file is made, only the owner can read it, and a hash of the working folder's absolute path names its folder.
Content blocks have no type tag; readers tell them apart by their fields.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from agent.transcript import Image, Text, Thinking, ToolCall, ToolResult
from supervisor.home.zot_home import private_folder
from wire.lenient_json import ARGUMENTS_DEPTH, is_deeper, json_on_one_line

if TYPE_CHECKING:
    from pathlib import Path

    from agent.transcript import Block, Message
    from wire.events import Totals


class SessionFile:
    """A transcript on disk. The first message creates the file.

    A write error is kept in `error` and ends the writing, but not the run.
    """

    def __init__(self, home: Path, *, cwd: str, provider: str, model: str, version: str) -> None:
        self.id = str(uuid.uuid4())
        self.error: str | None = None
        started = datetime.now(UTC)
        folder = home / "sessions" / hashlib.sha256(cwd.encode()).hexdigest()[:16]
        self.path = folder / f"{started:%Y%m%d-%H%M%S}-{self.id[:8]}.jsonl"
        self._fd = -1
        self._meta = {
            "id": self.id,
            "cwd": cwd,
            "model": model,
            "provider": provider,
            "started": started.isoformat(),
            "version": version,
        }

    def message(self, message: Message) -> None:
        """Writes a message to the disk before it returns. A message without content is left out."""
        content = [_block(block) for block in message.content]
        if content:
            self._append(
                {"type": "message", "message": {"role": message.role, "content": content, "time": message.time}}
            )

    def usage(self, cumulative: Totals) -> None:
        """Writes the running totals under `usage` and under `cumulative`, as zot does."""
        totals = {
            "input_tokens": cumulative.input,
            "output_tokens": cumulative.output,
            "cache_read_tokens": cumulative.cache_read,
            "cache_write_tokens": cumulative.cache_write,
            "cost_usd": cumulative.cost_usd or 0.0,
        }
        if self._fd >= 0:
            self._append({"type": "usage", "usage": totals, "cumulative": totals})

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, row: dict[str, Any]) -> None:
        if self.error is not None:
            return
        try:
            if self._fd < 0:
                self._open()
            self._write(orjson.dumps(row) + b"\n")
            os.fsync(self._fd)
        except OSError as error:
            self.error = f"the session is not recorded any further: {self.path}: {error.strerror}"
            self.close()

    def _open(self) -> None:
        private_folder(self.path.parent)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._write(orjson.dumps({"type": "meta", "meta": self._meta}) + b"\n")

    def _write(self, line: bytes) -> None:
        """Writes the whole line or nothing: half a line would make the file unreadable."""
        size = os.fstat(self._fd).st_size
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError:
            os.ftruncate(self._fd, size)
            raise


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Image):
        return {"mime_type": block.mime_type, "data": block.data}
    if isinstance(block, Thinking):
        return {
            "reasoning_id": "",
            "summary": block.text,
            "encrypted_content": block.redacted or block.signature,
            "redacted": bool(block.redacted),
        }
    if isinstance(block, ToolCall):
        return {"id": block.id, "name": block.name, "arguments": _arguments(block.args)}
    assert isinstance(block, ToolResult)
    return {
        "call_id": block.call_id,
        "content": [_block(part) for part in block.content],
        "is_error": block.is_error,
    }


def _arguments(args: bytes) -> Any:
    """Valid JSON as it is; any other text, and JSON nested deeper than `ARGUMENTS_DEPTH`, as a JSON string, which every
    reader can load."""
    try:
        is_readable = not is_deeper(orjson.loads(args), ARGUMENTS_DEPTH)
    except orjson.JSONDecodeError:
        is_readable = False
    if not is_readable:
        return args.decode("utf-8", "replace")
    return orjson.Fragment(bytes(json_on_one_line(args)))
