"""The frames between a batch on many machines (the driver) and the node program on each of them.

A frame is its length, four bytes, big-endian, and a MessagePack map with its `type`. The two streams carry frames and
nothing else, cut anywhere on their way. The driver begins with `set_up`; the node answers `ready` or `refused`, and
does nothing more after `refused`. The end of the input tells a node program to end all its runs, and itself.

A node starts no request to a model by itself: it tells the driver of each (`told`), keeps the request, and sends it
when the driver has said `grant`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

from wire.batch.task import Task  # noqa: TC001  (msgspec reads the annotations)
from wire.lenient_json import UNREADABLE
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME_LIMIT = 512 * 1024 * 1024
"""Maximum of one frame in bytes: twice the longest line of a run."""
PIECE = 1024 * 1024
"""Maximum of bytes of a file, or of an output, in one frame."""
SHOWN = 300
"""Characters of a fault."""
_LENGTH = struct.Struct(">I")
Jobs = Annotated[int, Meta(ge=0, le=10**6)]
Bytes = Annotated[int, Meta(ge=0, le=2**50)]
Seconds = Annotated[float, Meta(ge=0, le=10**9)]
Code = Annotated[int, Meta(ge=-128, le=255)]
_F = TypeVar("_F")


class Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of the frames; their `type` is the class's tag."""


class ExtensionFact(msgspec.Struct, frozen=True, order=True):
    """One extension that the runs of a batch would start, as one machine finds it."""

    name: str
    content: str
    """Hash of its content; empty for an MCP server of the user's own config file."""
    trust: str
    """Empty if it may run; else why it may not, in one line."""


class FolderExtensions(msgspec.Struct, frozen=True, order=True):
    """The extensions that runs in one folder would start, as the driver finds them."""

    cwd: str
    named: tuple[str, ...]
    """The folders of `--ext`, or of `ext` of the tasks."""
    found: tuple[ExtensionFact, ...]


# --- to the node ----------------------------------------------------------------------------------------------


class SetUp(Frame, frozen=True, kw_only=True, tag="set_up"):
    """The first frame."""

    node: str
    """The name by which the driver calls the node."""
    version: str
    """The version of zot at the driver; the node refuses another one."""
    token: str
    """The mark in the environment of all processes of the batch."""
    request: bytes
    """The flags of every run, as `agent.batch.run.begin.encode_request` writes them."""
    share: tuple[str, ...] = ()
    """As in `BatchRequest.share`."""
    run_memory: int | None = None
    """Bytes that the processes of one run may have; the node looks at their memory more often then."""
    folders: tuple[str, ...] = ()
    """Working folders of the tasks: the node refuses if one is missing."""
    files: tuple[str, ...] = ()
    """Files that tasks and flags name, likewise; without that of `--api-key-file`."""
    models: tuple[Task, ...] = ()
    """One task for each provider, model, address and key that tasks ask for. The node refuses if it lacks one."""
    repositories: tuple[tuple[str, str], ...] = ()
    """With `--workspace worktree`: each repository and the commit that it must have."""
    extensions: tuple[FolderExtensions, ...] = ()
    """The node refuses if it finds other ones. Content that the driver would run is trusted there."""
    cwd: str = ""
    """The working folder of the driver: relative paths start there."""
    upload: str = ""
    """With `--upload`: the folder of the driver, without links, that the node's program has as its working folder.
    Paths in it are paths in the node's copy."""
    links: tuple[tuple[str, str], ...] = ()
    """Paths of the driver that lead into that folder by links, each with the path there without links."""


class Start(Frame, frozen=True, kw_only=True, tag="start"):
    """Starts the process of a run, whose first line on its link is `begin`."""

    run: str
    """As in `wire.batch.link.Begin.run`."""
    begin: bytes
    """A line of `wire.batch.link`. Its folders are those of the driver; the node puts its own in their place."""


class Send(Frame, frozen=True, kw_only=True, tag="send"):
    """Bytes for the link of a run."""

    run: str
    data: bytes


class Read(Frame, frozen=True, kw_only=True, tag="read"):
    """Whether the event stream of a run is read. At first it is."""

    run: str
    is_on: bool


class Kill(Frame, frozen=True, kw_only=True, tag="kill"):
    """Kills the whole tree of a run. `exited` follows."""

    run: str


class Grant(Frame, frozen=True, kw_only=True, tag="grant"):
    """The request of a run may be sent to the provider now."""

    run: str
    request: str
    """The id of the request."""


class Withdraw(Frame, frozen=True, kw_only=True, tag="withdraw"):
    """The request of a run is given up: its worker is killed, and nothing more is told of it."""

    run: str
    request: str


ToNode = SetUp | Start | Send | Read | Kill | Grant | Withdraw


# --- from the node --------------------------------------------------------------------------------------------


class Ready(Frame, frozen=True, kw_only=True, tag="ready"):
    """The node can run tasks. It may be said once."""

    jobs: Jobs
    """Runs at the same time for which it has cores and memory."""
    most_jobs: Jobs
    """Runs at the same time for which it has open files."""
    host: str
    """The name of the machine."""
    serving: bytes | None = None
    """The first line of the node's host, as in `wire.batch.host_lines`; None if no extension is shared."""


class Refused(Frame, frozen=True, kw_only=True, tag="refused"):
    """The node cannot run the tasks of this batch. It is its last frame."""

    reasons: tuple[str, ...]


class Output(Frame, frozen=True, kw_only=True, tag="output"):
    """Bytes of the event stream of a run."""

    run: str
    data: bytes


class Errors(Frame, frozen=True, kw_only=True, tag="errors"):
    """Bytes of the standard error of a run."""

    run: str
    data: bytes


class Told(Frame, frozen=True, kw_only=True, tag="told"):
    """A line that a run has written to its link. In a request, each credential of `configure` is replaced by its
    fingerprint: equal for equal ones, and says nothing of it. Output that the run has written to its event stream
    before comes before."""

    run: str
    line: bytes


class Replied(Frame, frozen=True, kw_only=True, tag="replied"):
    """A line of a model worker that says how a request goes on: its beginning, a retry or its end, without the reply.
    The run has got the line already, unless it is an `error`: that one the driver sends it, or asks again."""

    run: str
    request: str
    line: bytes


class Broke(Frame, frozen=True, kw_only=True, tag="broke"):
    """The model worker of a request has failed."""

    run: str
    request: str
    message: str
    was_sent: bool
    """Whether the request may have reached the provider."""


class File(Frame, frozen=True, kw_only=True, tag="file"):
    """A piece of a file that a run has written into its stand-in for RUNDIR. It comes before the `told` of its end."""

    run: str
    name: str
    """The path in RUNDIR."""
    data: bytes
    is_first: bool
    is_last: bool


class Exited(Frame, frozen=True, kw_only=True, tag="exited"):
    """The process of a run has ended, and no other process of it is left. The last frame of the run."""

    run: str
    code: Code
    cpu_s: Seconds
    rss_peak: Bytes


class NotStarted(Frame, frozen=True, kw_only=True, tag="not_started"):
    """The process of a run could not be started. The last frame of the run."""

    run: str
    message: str
    may_pass: bool


class Memory(Frame, frozen=True, kw_only=True, tag="memory"):
    """Bytes, at the last look."""

    runs: dict[str, Bytes]
    shared: Bytes
    """Of the template, the model workers and the host."""


class Notice(Frame, frozen=True, kw_only=True, tag="notice"):
    """A line for the user."""

    text: str
    is_advice: bool = False


FromNode = (
    Ready | Refused | Output | Errors | Told | Replied | Broke | File | Exited | NotStarted | Memory | Notice
)  # fmt: skip


# --- encoding -------------------------------------------------------------------------------------------------

_encoder = msgspec.msgpack.Encoder()


class FrameError(Exception):
    """The other side has sent what is no frame; the text says what."""


def encode(frame: msgspec.Struct) -> bytes:
    """The length and the frame."""
    body = _encoder.encode(frame)
    return _LENGTH.pack(len(body)) + body


class FrameReader(Generic[_F]):
    """Puts frames together. `decoder` is that of the frames of the other side."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[_F]) -> None:
        self._decoder = decoder
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[_F]:
        """Yields each frame that the data completes. Raises `FrameError`; then nothing more can be read."""
        self._bytes += data
        at = 0
        try:
            while len(self._bytes) - at >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(self._bytes, at)
                if length > FRAME_LIMIT:
                    raise FrameError(f"a frame of {length} bytes; the limit is {FRAME_LIMIT}")
                end = at + _LENGTH.size + length
                if len(self._bytes) < end:
                    break
                body = bytes(memoryview(self._bytes)[at + _LENGTH.size : end])
                at = end
                try:
                    yield self._decoder.decode(body)
                except UNREADABLE as error:
                    raise FrameError(f"a frame that cannot be read: {one_line(str(error), SHOWN)}") from None
        finally:
            del self._bytes[:at]


def to_node_reader() -> FrameReader[ToNode]:
    """For the node: reads what the driver sends."""
    return FrameReader(msgspec.msgpack.Decoder(ToNode))


def from_node_reader() -> FrameReader[FromNode]:
    """For the driver: reads what a node sends."""
    return FrameReader(msgspec.msgpack.Decoder(FromNode))
