"""A black box that was kept: the last frames between a host and an extension that fell, `ID.NAME.N.box.jsonl`.

The first line is a `black_box`, and a `frame` follows for each frame, the oldest first.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from wire.lenient_json import UNREADABLE, reason

FORMAT = 1
"""The version of this format."""

Form = Literal["types", "full"]


class PendingCall(msgspec.Struct, frozen=True):
    """A request of the host that the extension did not answer."""

    type: Literal["tool_call", "command_invoked", "event_intercept"]
    id: str
    """The id of the request at the host; some dialects give it another one on the wire."""
    name: str
    """The tool, the command or the event; empty if unknown."""
    waited_s: float
    """Seconds from the request until the fall."""


class BlackBox(msgspec.Struct, frozen=True, tag_field="type", tag="black_box", kw_only=True):
    """The first line: whose frames these are, and its fall."""

    format: int = FORMAT
    """The version of this format."""
    run: str
    """The id of the run: the name of its trace."""
    time: float
    """The fall, in seconds since the epoch."""
    zot: str
    """The version of zot."""
    extension: str
    folder: str
    """The folder of the extension, or the file that names it."""
    dialect: str
    """The protocol of the extension: `zot`, `mcp` or `copilot`."""
    version: str
    """The version in the extension's hello; empty without one."""
    pid: int | None
    """Pid of its process; null without one."""
    fall: str
    """The kind of fall: `crashed`, `hung`, `limit`, `refused`, `given_up` or `no_verdict`."""
    cause: str
    """The cause in the host's own words: `signal SIGSEGV`."""
    pending: int
    """Number of requests that waited for an answer."""
    last_call: PendingCall | None
    """The last of them, or the one that got no answer in time; null if none waited."""
    form: Form
    """types: frames without contents; full: with contents."""
    frames: int
    """Number of frames that follow."""
    is_whole: bool
    """Whether these are all frames since the start of the process."""
    masked: int = 0
    """Number of frames in which a secret is masked."""


class BoxFrame(msgspec.Struct, frozen=True, tag_field="type", tag="frame", kw_only=True, omit_defaults=True):
    """One frame."""

    time: float
    """Seconds since the epoch: when the host read or wrote it, at most a millisecond before it."""
    side: Literal["host", "extension"]
    """The side that sent it."""
    kind: str
    """Its `type`, or its `method` in JSON-RPC; `answer` for an answer of JSON-RPC; empty if it is no message, or the
    word is none that a protocol has."""
    id: str = ""
    """Its id; empty without one."""
    name: str = ""
    """The tool, command or event of a frame of the host; empty for others."""
    size: int
    """Its length in bytes."""
    is_cut: bool = False
    """Whether only its start is kept."""
    text: str | None = None
    """The frame without its line end or header; null in the form `types`, and for one that is not UTF-8."""
    base64: str | None = None
    """The same for a frame that is not UTF-8."""


BoxLine = BlackBox | BoxFrame

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[BoxLine] = msgspec.json.Decoder(BoxLine)


class _Version(msgspec.Struct):
    type: str = ""
    format: int = FORMAT


_version = msgspec.json.Decoder(_Version)


class BlackBoxError(ValueError):
    """The file is no black box that can be read; the text names the line."""


class KeptBox(NamedTuple):
    """A black box that was read."""

    header: BlackBox
    frames: tuple[BoxFrame, ...]
    fault: str
    """The part that is missing at its end; empty if it is complete."""


def encode(header: BlackBox, frames: list[BoxFrame]) -> bytes:
    """The text of a black box."""
    return b"".join(_encoder.encode(line) + b"\n" for line in (header, *frames))


def is_black_box(text: bytes) -> bool:
    """Whether the first line says that the file is a black box."""
    try:
        return _version.decode(text.partition(b"\n")[0]).type == "black_box"
    except UNREADABLE:
        return False


def decode(text: bytes) -> KeptBox:
    """Reads a black box. A last line without an end is left out. Raises `BlackBoxError`."""
    first, *rest = text.split(b"\n")
    header = _header(first)
    frames: list[BoxFrame] = []
    for number, line in enumerate(rest[:-1], 2):
        found = _line(line, number)
        if not isinstance(found, BoxFrame):
            raise BlackBoxError(f"line {number}: a second black_box; a file has one")
        frames.append(found)
    fault = ""
    if rest and rest[-1]:
        fault = f"line {len(rest) + 1} is cut off and left out"
    elif len(frames) != header.frames:
        fault = f"it has {len(frames)} of {header.frames} frames"
    return KeptBox(header, tuple(frames), fault)


def _header(line: bytes) -> BlackBox:
    try:
        version = _version.decode(line)
    except UNREADABLE as error:
        raise BlackBoxError(f"line 1: not a black box: {reason(error)}") from None
    if version.type != "black_box":
        raise BlackBoxError("line 1: not a black box: its type is not black_box")
    if version.format != FORMAT:
        raise BlackBoxError(f"line 1: format {version.format}; this zot reads format {FORMAT}")
    found = _line(line, 1)
    assert isinstance(found, BlackBox)
    return found


def _line(line: bytes, number: int) -> BoxLine:
    try:
        return _decoder.decode(line)
    except UNREADABLE as error:
        raise BlackBoxError(f"line {number}: {reason(error)}") from None
