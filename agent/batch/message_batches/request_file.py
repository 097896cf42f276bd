"""The file of a message batch, `RUNDIR/batches/NONCE.jsonl`: its requests, one a line, as the provider gets them.

It is safe on the disk before the plan of the message batch is, so a creation can be made again with the same requests.
It is removed once all results are recorded.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.budget import BYTES_PER_TOKEN, lost_request
from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import IN_DIFFS, LINE_LIMIT, open_rundir_file, rundir_names
from agent.batch.message_batches.chunk import Chunk, custom_id
from agent.model.catalogue import BATCH_FACTOR
from supervisor.home.safe_files import sync, sync_folder, write_all
from wire.batch.outcome import Lost

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

IN_BATCHES = IN_DIFFS
"""`depth` of a file in `batches/`."""
SUFFIX = ".jsonl"
AROUND = 100
"""Maximum bytes of a line besides its parameters."""


class _Params(msgspec.Struct):
    model: str = ""
    max_tokens: int = 0


class _Request(msgspec.Struct):
    params: _Params


class SentParams(msgspec.Struct):
    """The fields of a request that its events show."""

    model: str = ""
    messages: list[dict[str, Any]] = []


class _Shown(msgspec.Struct):
    params: SentParams


class RequestFile:
    """Grows until `close`; `sent` gives a request back. Raises `FolderError`, `OSError`."""

    def __init__(self, path: Path, nonce: str) -> None:
        """A new file."""
        self.path = path
        self.nonce = nonce
        self.chunk = Chunk()
        self._ends = array("Q", [0])
        self._reserved: list[Lost] = []
        self._waiting = bytearray()
        self._fd = open_rundir_file(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, depth=IN_BATCHES)

    @classmethod
    def read(cls, path: Path, nonce: str) -> RequestFile:
        """A file of an earlier start. Raises `FileNotFoundError` if it is gone."""
        file = cls.__new__(cls)
        file.path, file.nonce, file.chunk, file._reserved, file._waiting = path, nonce, Chunk(), [], bytearray()
        file._ends = array("Q", [0])
        file._fd = open_rundir_file(path, os.O_RDONLY, depth=IN_BATCHES)
        decode = msgspec.json.Decoder(_Request).decode
        with open(os.dup(file._fd), "rb") as lines:
            for line in iter(lambda: lines.readline(LINE_LIMIT), b""):
                try:
                    params = decode(line).params
                except msgspec.DecodeError:
                    params = _Params()
                file._note(len(line), params.model, params.max_tokens)
        return file

    @property
    def size(self) -> int:
        """Bytes."""
        return self._ends[-1]

    @property
    def count(self) -> int:
        return len(self._reserved)

    def has_room(self, task: str, params: bytes) -> bool:
        """Whether the request may join."""
        return self.chunk.has_room(task, len(params) + AROUND)

    def add(self, task: str, params: bytes, model: str, max_tokens: int) -> None:
        """Adds a request, with the next number."""
        line = b'{"custom_id":"%s","params":%s}\n' % (custom_id(self.nonce, self.count).encode(), params)
        self._waiting += line
        self.chunk.add(task, len(line) - 1)
        self._note(len(line), model, max_tokens)
        if len(self._waiting) > 1 << 20:
            self._flush()

    def _note(self, size: int, model: str, max_tokens: int) -> None:
        self._ends.append(self._ends[-1] + size)
        self._reserved.append(at_batch_price(lost_request(model, size // BYTES_PER_TOKEN + 1, max_tokens)))

    def _flush(self) -> None:
        write_all(self._fd, bytes(self._waiting))
        self._waiting.clear()

    def make_safe(self) -> None:
        """Writes and syncs what is there, and the name of the file."""
        self._flush()
        sync(self._fd)
        sync_folder(self.path.parent)

    def reserved(self, number: int) -> Lost:
        """Maximum that this request may cost."""
        return self._reserved[number] if number < self.count else Lost()

    def sent(self, number: int) -> SentParams:
        """The request with this number; empty if the file does not have it."""
        if number >= self.count:
            return SentParams()
        start, end = self._ends[number : number + 2]
        try:
            return msgspec.json.decode(os.pread(self._fd, end - start, start), type=_Shown).params
        except (OSError, msgspec.DecodeError):
            return SentParams()

    def close(self, *, remove: bool = False) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            if remove:
                self.path.unlink(missing_ok=True)


def remove_others(folder: Path, nonces: Container[str]) -> None:
    """Removes the files of all other message batches: a batch process that was killed has left them."""
    try:
        for name in rundir_names(folder):
            if name.endswith(SUFFIX) and name.removesuffix(SUFFIX) not in nonces:
                (folder / name).unlink(missing_ok=True)
    except (OSError, FolderError):
        pass  # there is none, or it is not ours: what is written into it later says so


def at_batch_price(lost: Lost) -> Lost:
    """The same requests, at the price of a message batch."""
    return msgspec.structs.replace(
        lost, input_usd=round(lost.input_usd * BATCH_FACTOR, 6), output_usd=round(lost.output_usd * BATCH_FACTOR, 6)
    )
