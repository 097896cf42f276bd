"""The lines of a batch's journal, `RUNDIR/journal.jsonl`. One JSON object per line; each ends in `"crc":"xxxxxxxx"}`.

`seq` counts the lines from 1 without a gap. `crc` is the CRC-32, in hex, of the bytes before `,"crc":`. A commit is the
set of lines that are written and synced together; `commit` is the `seq` of its first line. So each line tells which
lines were safe on the disk before it was written: all before its `commit`.
"""

from __future__ import annotations

import zlib
from typing import Any, Literal

import msgspec

from wire.batch.outcome import Outcome, Score  # noqa: TC001  (msgspec reads the annotations)
from wire.lenient_json import UNREADABLE

VERSION = 1
_CRC = b',"crc":"'
_TAIL = len(_CRC) + 8 + len(b'"}')


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="state"):
    """Base of the lines; their `state` is the class's tag."""

    v: int = VERSION
    seq: int
    commit: int = 0
    """The `seq` of the first line of the same commit; 0 for a line that was written alone."""
    t: float
    """Seconds since 1970."""


class Opened(Line, frozen=True, kw_only=True, tag="opened"):
    """A batch process has begun to work on the folder."""

    version: str
    pid: int
    tasks: int
    """Number of tasks in the tasks file."""
    jobs: int
    socket: str = ""
    """Path of the control socket of this process; empty if an earlier version has written the line."""


class Started(Line, frozen=True, kw_only=True, tag="started"):
    """An attempt begins. On disk before the process of the run is forked."""

    task: str
    attempt: int
    digest: str = ""
    """Hash of the task and of the files that it names; it shows whether inputs have changed."""
    node: str | msgspec.UnsetType = msgspec.UNSET
    """The node that runs it; absent for a batch on one machine."""


class Paused(Line, frozen=True, kw_only=True, tag="paused"):
    """A run waits for a rate limit."""

    task: str
    attempt: int
    reason: str


class Resumed(Line, frozen=True, kw_only=True, tag="resumed"):
    task: str
    attempt: int


class Finished(Line, frozen=True, kw_only=True, tag="finished"):
    """An attempt has ended. On disk before it is reported anywhere. The first final one of a task counts."""

    task: str
    attempt: int
    final: bool
    """Whether the task is done. False if another attempt follows, or if the attempt was interrupted."""
    outcome: Outcome


class Reopened(Line, frozen=True, kw_only=True, tag="reopened"):
    """The task is to be run again (`--redo`): its result no longer counts once a new attempt has started."""

    task: str


class Scored(Line, frozen=True, kw_only=True, tag="scored"):
    """The result of a task was scored again (`zot batch score`): this score replaces that of its outcome. The last line
    counts, if its attempt is the one whose outcome counts."""

    task: str
    attempt: int
    score: Score


class Changed(Line, frozen=True, kw_only=True, tag="changed"):
    """The batch was changed while it runs."""

    what: Literal["jobs", "budget", "pause", "resume", "stop", "requeue"]
    """`pause` counts until `resume` or the end of the batch process; jobs and budget until its end or another one."""
    value: float | None = None
    """The new number of `jobs`, or of US dollars of `budget`."""
    task: str = ""
    """The task that was requeued."""
    now: bool = False
    """With `pause` and `requeue`: whether running ones were aborted."""
    before: float | None = None
    """The `value` until then; null if there was none."""
    by: Literal["ctl", "key"] = "ctl"
    """`zot batch ctl`, or the key p of the progress view."""


class PlannedRequest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One request of a message batch."""

    task: str
    attempt: int


class BatchPlanned(Line, frozen=True, kw_only=True, tag="batch_planned"):
    """Tasks are about to be sent as one message batch (`--batch-api`). On disk before the request that creates it."""

    nonce: str
    """Unique. The `custom_id` of the first request of the message batch is `zot-NONCE-0`."""
    requests: tuple[PlannedRequest, ...]
    """By the numbers in their `custom_id`."""


class BatchCreated(Line, frozen=True, kw_only=True, tag="batch_created"):
    """The provider has a planned message batch."""

    nonce: str
    id: str
    """The provider's."""
    expires: float
    """When the provider ends it, in seconds since 1970."""


class Closed(Line, frozen=True, kw_only=True, tag="closed"):
    """The batch process has ended in good order."""

    reason: Literal["done", "drained", "stopped", "budget", "deadline", "failures"]
    limit: str = ""
    """The flag of the limit that was used up, such as `--max-cost-usd`; empty if none was."""


AnyLine = (
    Opened | Started | Paused | Resumed | Finished | Reopened | Scored | Changed | BatchPlanned | BatchCreated | Closed
)

_decoder = msgspec.json.Decoder(AnyLine)
_encoder = msgspec.json.Encoder()


class JournalLineError(ValueError):
    """A line is damaged; the text says how."""


class UnknownLineError(ValueError):
    """A line is whole, but this version does not know its content; the text says which version wrote it."""


def encode_line(line: AnyLine) -> bytes:
    """Returns the line with its checksum, LF included. Characters that UTF-8 cannot hold become U+FFFD."""
    try:
        body = _encoder.encode(line)[:-1]
    except UnicodeEncodeError:
        body = _encoder.encode(_writable(msgspec.to_builtins(line)))[:-1]
    if b"\n" in body:  # between the tokens of an `answer`: within strings it is escaped
        body = body.replace(b"\n", b" ")
    return b'%s%s%08x"}\n' % (body, _CRC, zlib.crc32(body))


def is_whole(text: bytes) -> bool:
    """Whether a line, given without its LF, has a checksum that is right."""
    return text.endswith(b',"crc":"%08x"}' % zlib.crc32(text[:-_TAIL]))


def decode_line(text: bytes) -> AnyLine:
    """`text` is one line without its LF. Raises `JournalLineError` for a damaged line, and `UnknownLineError` for one
    of a newer version."""
    line: AnyLine = decode_with(_decoder, text)
    return line


def decode_with(decoder: msgspec.json.Decoder[Any], text: bytes) -> Any:
    """Like `decode_line`, with a decoder that leaves out fields which its caller does not need."""
    if not is_whole(text):
        has_checksum = text[-_TAIL:].startswith(_CRC) and text.endswith(b'"}')
        raise JournalLineError("its checksum is wrong" if has_checksum else "it has no checksum at its end")
    try:
        line = decoder.decode(text)
    except UNREADABLE as error:
        raise UnknownLineError(f"{_version(text)}{error}") from None
    if line.v > VERSION:
        raise UnknownLineError(_version(text).removesuffix(": "))
    return line


def _version(text: bytes) -> str:
    """Returns `version 2: ` for a line that is newer than this module, else ""."""
    try:
        version = msgspec.json.decode(text, type=_Version).v
    except UNREADABLE:
        return ""
    return f"version {version}: " if version > VERSION else ""


class _Version(msgspec.Struct):
    v: int


def _writable(value: Any) -> Any:
    """Returns the same JSON value with U+FFFD for each half of a surrogate pair."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_writable(key): _writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
    return value
