"""The lines of a batch's journal, `RUNDIR/journal.jsonl`. One JSON object per line; each ends in `"crc":"xxxxxxxx"}`.

`seq` counts the lines from 1 without a gap. `crc` is the CRC-32, in hex, of the bytes before `,"crc":`.
"""

from __future__ import annotations

import zlib
from typing import Literal

import msgspec

from wire.batch.outcome import Outcome  # noqa: TC001  (msgspec reads the annotations)
from wire.lenient_json import UNREADABLE

VERSION = 1
_CRC = b',"crc":"'
_TAIL = len(_CRC) + 8 + len(b'"}')


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="state"):
    """Base of the lines; their `state` is the class's tag."""

    v: int = VERSION
    seq: int
    t: float
    """Seconds since 1970."""


class Opened(Line, frozen=True, kw_only=True, tag="opened"):
    """A batch process has begun to work on the folder."""

    version: str
    pid: int
    tasks: int
    """In the tasks file."""
    jobs: int


class Started(Line, frozen=True, kw_only=True, tag="started"):
    """On disk before the process of the run is forked."""

    task: str
    attempt: int
    digest: str = ""
    """Hash of the task and of the files that it names: to find inputs that have changed."""


class Paused(Line, frozen=True, kw_only=True, tag="paused"):
    """A run waits for a rate limit."""

    task: str
    attempt: int
    reason: str


class Resumed(Line, frozen=True, kw_only=True, tag="resumed"):
    task: str
    attempt: int


class Finished(Line, frozen=True, kw_only=True, tag="finished"):
    """On disk before anybody is told. The first one of a task that is final counts."""

    task: str
    attempt: int
    final: bool
    """Whether the task is done. Not after an attempt that is followed by another one, or that was interrupted."""
    outcome: Outcome


class Reopened(Line, frozen=True, kw_only=True, tag="reopened"):
    """The task is to be run again (`--redo`): its results so far count no more."""

    task: str


class Closed(Line, frozen=True, kw_only=True, tag="closed"):
    """The batch process has ended in good order."""

    reason: Literal["done", "drained", "stopped", "budget", "deadline", "failures"]


AnyLine = Opened | Started | Paused | Resumed | Finished | Reopened | Closed

_decoder = msgspec.json.Decoder(AnyLine)
_encoder = msgspec.json.Encoder()


class JournalLineError(ValueError):
    """A line is damaged; the text says how."""


def encode_line(line: AnyLine) -> bytes:
    """One line with its checksum, LF included."""
    body = _encoder.encode(line)[:-1]
    return b'%s%s%08x"}\n' % (body, _CRC, zlib.crc32(body))


def decode_line(text: bytes) -> AnyLine:
    """`text` is one line without its LF. Raises `JournalLineError`."""
    body, tail = text[:-_TAIL], text[-_TAIL:]
    if not (tail.startswith(_CRC) and tail.endswith(b'"}')):
        raise JournalLineError("it has no checksum at its end")
    if tail[len(_CRC) : -2] != b"%08x" % zlib.crc32(body):
        raise JournalLineError("its checksum is wrong")
    try:
        line: AnyLine = _decoder.decode(body + b"}")
    except UNREADABLE as error:
        raise JournalLineError(str(error)) from None
    return line
