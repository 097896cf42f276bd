"""The lines between a host and a run that uses the host's extensions, over the host's attach socket.

Each line is a JSON object. The run begins with `attach`; the host answers with `attached`, or with `error` and closes.
The run then takes the extensions that it wants. From then on the frames of an extension go both ways in `ext` lines, in
zot's protocol, whatever the extension itself speaks; the host puts the session and the folder of the run into frames
for the extension. No line here can control the host.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Raw

from wire.lenient_json import UNREADABLE, reason

PROTOCOL = 1
SessionId = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
HEAD_LIMIT = 1024
"""Maximum size in bytes of an `ext` line without its frame."""


class _Line(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all lines."""


class Ext(_Line, frozen=True, tag="ext"):
    """A frame of an extension, or to it. `ext_line` writes it, with the members in this order."""

    extension: str
    frame: Raw


# --- from the run -------------------------------------------------------------------------------------------


class Attach(_Line, frozen=True, tag="attach"):
    """The first line of a run."""

    protocol: int
    version: str
    """The version of the run's program."""
    pid: int
    session_id: SessionId
    cwd: str
    """The folder in which the run works."""


class Take(_Line, frozen=True, tag="take"):
    """The run uses this extension from now on; answered by `registered` or `state`."""

    extension: str


class SessionSwitched(_Line, frozen=True, tag="session"):
    """The run goes on with another session."""

    session_id: SessionId


class UseAsked(_Line, frozen=True, tag="use_asked"):
    """Asks for a line `use`."""

    is_last: bool = False
    """Whether the run ends, or a prompt of it: the host measures its processes once more."""


FromRun = Attach | Take | SessionSwitched | UseAsked | Ext


# --- from the host ------------------------------------------------------------------------------------------


class Offered(msgspec.Struct, frozen=True, omit_defaults=True):
    """An extension of the host, and whether runs may take it."""

    name: str
    sessions: Literal["private", "leased", "shared"]
    """private: each run starts its own; `why` says why."""
    scope: str
    """--ext, project or global."""
    folder: str
    """The real path of its folder; for an MCP server of its file, and its name behind that."""
    manifest: Raw
    """Its manifest as the host has read it, with the fields that the run judges by."""
    described: str
    """A hash of all by which the host starts it."""
    why: str = ""
    is_changed: bool = False
    """Whether its files have changed since the host started it."""
    granted: dict[str, str] = {}
    """Variables that its manifest asks for, with a hash of each value, by `Attached.salt`."""
    is_named: bool = False
    """Whether the operator shares it by its name, with `--share` or in the settings."""


class Attached(_Line, frozen=True, tag="attached"):
    """Answers `attach`."""

    protocol: int
    version: str
    pid: int
    cwd: str
    salt: str
    extensions: tuple[Offered, ...]


class Registered(_Line, frozen=True, tag="registered"):
    """The extension is up: all its present registrations. They replace earlier ones."""

    extension: str
    frames: tuple[Raw, ...]
    """Its hello, the registrations, and `ready`."""
    instructions: str = ""


class State(_Line, frozen=True, tag="state"):
    """The extension cannot take requests."""

    extension: str
    state: Literal["starting", "down", "gone"]
    """starting: its first start is not over; down: it is started again; gone: it is not, or not for this run."""
    reason: str = ""
    is_private: bool = False
    """With gone: the run should start a process of its own."""


class Failed(_Line, frozen=True, tag="failed"):
    """A request of the run has failed."""

    extension: str
    id: str
    failure: str
    """timeout, died, not reading, bad answer or cancelled."""
    reason: str


class Told(_Line, frozen=True, tag="notice"):
    """A notice about an extension: its exits, restarts and faults."""

    extension: str
    kind: str
    message: str


class SessionUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """The use of one extension by one session."""

    calls: int = 0
    errors: int = 0
    timeouts: int = 0
    frames_in: int = 0
    """From the extension."""
    frames_out: int = 0
    busy_s: float = 0.0
    """Seconds in which the extension had a request of this session; with others' at the same time, its part."""
    cpu_s: float = 0.0
    """Its part of the extension's CPU seconds, by busy time: a share, not a measurement."""
    rss_peak_bytes: int = 0
    """The highest resident size of the extension's process trees, the same for all sessions."""


class Use(_Line, frozen=True, tag="use"):
    """Answers `use_asked`: the use of each extension by this run."""

    extensions: dict[str, SessionUse]


class Refused(_Line, frozen=True, tag="error"):
    """The host refuses the connection, which it then closes; or an extension."""

    message: str
    extension: str = ""


FromHost = Attached | Registered | State | Failed | Told | Use | Refused | Ext

_encoder = msgspec.json.Encoder()
_from_run: msgspec.json.Decoder[FromRun] = msgspec.json.Decoder(FromRun)
_from_host: msgspec.json.Decoder[FromHost] = msgspec.json.Decoder(FromHost)


class AttachError(ValueError):
    """A line that cannot be read; the text says why."""


def encode(line: msgspec.Struct) -> bytes:
    """Encodes a line, LF included."""
    return _encoder.encode(line) + b"\n"


def ext_head(extension: str) -> bytes:
    """The start of every `ext` line for this extension."""
    return b'{"type":"ext","extension":%s,"frame":' % _encoder.encode(extension)


def ext_line(head: bytes, frame: bytes) -> bytes:
    """An `ext` line, LF included. `head` is of `ext_head`; `frame` is a line with LF."""
    return head + frame[:-1] + b"}\n"


def decode_from_run(line: bytes) -> FromRun:
    """Decodes a line of a run. Raises `AttachError`."""
    try:
        return _from_run.decode(line)
    except UNREADABLE as error:
        raise AttachError(reason(error)) from None


def decode_from_host(line: bytes) -> FromHost:
    """Decodes a line of a host. Raises `AttachError`."""
    try:
        return _from_host.decode(line)
    except UNREADABLE as error:
        raise AttachError(reason(error)) from None
