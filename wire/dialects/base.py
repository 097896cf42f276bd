"""A dialect is one extension protocol. Its sessions translate between neutral messages and the bytes of one process.

The frames of `wire.frames` are the neutral messages, with the few classes here that zot's protocol has no frame for. A
verdict is a `GuardAnswer` in all of them, `InterceptResponse` only how zot's protocol writes it.
A session is pure: it has no files and no descriptors, and no clock but `Setup.unix_ms`. `wire.dialects.table` names all
dialects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from wire import frames
from wire.dialects.host_calls import HostCall  # noqa: TC001  (msgspec reads the annotations)
from wire.dialects.verdict import GuardVerdict  # noqa: TC001
from wire.text import printable

if TYPE_CHECKING:
    from wire.framing import Line, Oversize

HOOK_POINTS = frozenset(
    {
        "session_start", "user_prompt", "turn_start", "tool_call", "tool_result", "assistant_message", "error",
        "session_end",
    }
)  # fmt: skip
"""Events that an extension of some dialect can guard. `tool_result` is that of a success or of a failure."""
EVENTS = HOOK_POINTS | {"turn_end", "usage", "idle"}
"""Events that an extension of some dialect can observe. `usage`: the tokens of one request to the model. `idle`: a
prompt has ended, and no other one waits."""


def unix_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class HostInfo(msgspec.Struct, frozen=True):
    """What an extension is told about its host in the handshake."""

    version: str
    provider: str
    model: str
    cwd: str
    session_id: str = ""
    """Of the session that the host has as it starts; it stays the same while the host lives."""
    workspace: str = ""
    """A folder for notes and files of that session; "" if the host has none."""


class Setup(msgspec.Struct, frozen=True):
    """What a session is opened with."""

    name: str
    """The extension's name, as its manifest says it."""
    host_version: str
    frame_limit: int
    """The most bytes of one message from the process, if the limit of its kind is not lower."""
    options: Mapping[str, Any] = {}
    """Settings of this extension that only its dialect knows."""
    kept: dict[str, Any] = msgspec.field(default_factory=dict)
    """What a session leaves for the next session of the same extension, after a restart too."""
    unix_ms: Callable[[], int] = unix_ms
    """The time that messages tell. Nothing is decided by it."""


# --- neutral messages without a frame -----------------------------------------------------------------------


class Warned(msgspec.Struct, frozen=True):
    """The user is told this, once for each `key`."""

    key: str
    text: str


class Remarked(msgspec.Struct, frozen=True):
    """A line for the extension's log alone."""

    text: str


class Unusable(msgspec.Struct, frozen=True):
    """The process can be of no use: the host gives it up with this reason."""

    reason: str
    may_pass: bool = True
    """Whether another start may end otherwise. If not, it is not started again."""


class GuardAnswer(msgspec.Struct, frozen=True, gc=False, tag="event_intercept_response"):
    """The answer to the question with this id. Its tag is the name that users know it by."""

    id: str
    verdict: GuardVerdict


class Instructions(msgspec.Struct, frozen=True):
    """What the model is to know of this extension, for the system prompt; "" takes it back."""

    text: str


class HostCalled(msgspec.Struct, frozen=True):
    """The extension wants something from its host, which answers with `DialectSession.answer` or
    `DialectSession.refuse`, once for each key."""

    key: str
    call: HostCall


PanelChange = frames.PanelKey | frames.PanelResize | frames.PanelClosed
"""An action of the user on an open panel."""
Message = (
    frames.FromExtension
    | GuardAnswer
    | frames.UnknownFrame
    | frames.Malformed
    | Warned
    | Remarked
    | Unusable
    | Instructions
    | HostCalled
)

Received = tuple[Sequence[Message], bytes]
"""The messages in a line, and the bytes to send in return, which may be empty."""


class UnsendableError(Exception):
    """A request cannot be put into the bytes of this dialect; the text says why."""


class Splitter(Protocol):
    """Cuts the output of a process into messages. Memory is bounded by the limit."""

    pending: int
    """Bytes held back because the message is not complete."""
    shortest: int
    """Bytes of the shortest message there is. Of more than 1,000 at once, shorter ones are dropped unread, and counted
    as junk."""
    has_more: bool
    """Whether the next `feed` returns more, also if its chunk is empty: one call takes no longer than a pass may."""

    def feed(self, data: bytes) -> list[Line | Oversize]: ...
    def finish(self) -> Line | Oversize | None: ...


class DialectSession(Protocol):
    """The protocol between the host and one process, from its start to its end. Pure.

    Times are seconds of the host's clock. All methods that return bytes make what is sent to the process; empty bytes
    mean that nothing is sent. The ids of requests are the host's, and come back in the answers.
    """

    opening: bytes
    """What the host says before the process has said anything; empty if the process speaks first."""
    due_at: float | None
    """When `on_time` is to be called; None if never. To be read after each call of a method that gets the time."""
    trouble: str
    """Why there may have been no hello yet; "" if nothing speaks for a cause."""
    claimed: Sequence[str]
    """Tools that it registers behind its hello and that no other may have: if one does, the hello is not accepted. Read
    at the hello."""

    @property
    def spoken(self) -> str:
        """The protocol that the process speaks, with its version: `MCP 2025-11-25`; "" before that is known."""

    @property
    def is_working(self) -> bool:
        """Whether it is still at something that it was told, and may want something from its host when that is done."""

    def splitter(self) -> Splitter: ...

    def receive(self, line: Line, now: float) -> Received:
        """Takes one message of the process. Never raises."""

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:
        """Takes what is left of a message that was dropped for its length. A `Malformed` with the `id` of a request
        fails that request."""

    def on_time(self, now: float) -> Received:
        """Does what is due."""

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str, now: float) -> bytes:
        """Answers a `Hello` that the host has accepted."""

    def reject(self, reason: str) -> bytes:
        """Answers a `Hello` that the host has not accepted; the process is then ended."""

    def call(self, call_id: str, tool: str, args: bytes, tool_id: str = "") -> bytes:
        """Calls a tool. `args` is JSON text, `tool_id` the id that events give the call; "" if there are none about it.
        Raises `UnsendableError`."""

    def invoke(self, call_id: str, command: str, args: str) -> bytes:
        """Runs a slash command. Raises `UnsendableError`."""

    def cancel(self, call_id: str, reason: str) -> bytes:
        """Takes back a call or a command, whose answer nobody waits for any more."""

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        """Asks for a verdict on an event that the extension guards."""

    def tell(self, event: frames.Event) -> bytes:
        """Reports an event that the extension observes."""

    def panel(self, change: PanelChange) -> bytes: ...

    def answer(self, key: str, value: Any) -> bytes:
        """Answers a `HostCalled` with the value that its call describes."""

    def refuse(self, key: str, reason: str) -> bytes:
        """Answers a `HostCalled` that the host does not carry out."""

    def ping(self, ping_id: str) -> bytes:
        """Asks for a `Pong`; empty if the process cannot be expected to answer now."""

    def stop(self) -> bytes:
        """Asks the process to exit; empty if the end of its input does that."""


class NoHostCalls:
    """What a session has in common with all others whose process wants nothing from its host and claims no names."""

    __slots__ = ()
    claimed: Sequence[str] = ()
    is_working = False

    def reject(self, reason: str) -> bytes:  # noqa: ARG002
        return b""

    def answer(self, key: str, value: Any) -> bytes:
        raise NotImplementedError

    def refuse(self, key: str, reason: str) -> bytes:
        raise NotImplementedError


class Dialect(Protocol):
    """One extension protocol: its sessions, its hook points and its defaults. A dialect that inherits this has the
    defaults below."""

    observable: frozenset[str]
    """Events that an extension of this dialect can observe."""
    guardable: frozenset[str]
    """Events that it can guard."""
    is_ready_by_silence: bool
    """Whether 250 ms without a message after the hello count as ready."""
    is_extended_by_progress: bool
    """Whether each progress report of a call starts its time anew, up to ten times its time in all."""
    manifest_defaults: Mapping[str, Any]
    """Fields of a manifest, where the manifest has none: `{"restart": {"policy": "permanent"}}`."""
    hello_s: float
    """Seconds to wait for the hello if the manifest sets no time."""
    launcher_hello_s: float
    """The same, if `exec` is one of `launchers`, which may download the program first."""
    launchers: frozenset[str]
    settle_s: float
    """Seconds that a run waits for such an extension before its first request; 0 if only while the model starts."""
    calls_host: bool = False
    """Whether a process may want things from its host (`HostCalled`). A host with an agent then has a workspace for it,
    and hears it out before a run ends: it may send a prompt."""
    session_variable: str = ""
    """The variable in which a process finds `HostInfo.session_id`; "" if it does not need it."""
    exit_s: float = 2.0
    """Seconds from the request to stop until SIGTERM."""
    term_s: float = 1.0
    """Seconds from SIGTERM to SIGKILL when a process is stopped."""
    drain_s: float = 0.0
    """Seconds that a process which is stopped may take to answer a ping, before its input is closed: it forgets what it
    has not read by then. 0: its input is closed at once. Only of a dialect whose `stop` is empty."""
    is_reloaded_with_session: bool = False
    """Whether such an extension starts anew when another session takes the place of the host's, as `clear` does."""

    def session(self, setup: Setup) -> DialectSession: ...


LIMIT = 2048
"""Bytes that are kept."""
SEARCHED = 4 * LIMIT
"""Characters that are looked at for what controls a terminal."""


def cut_instructions(text: str) -> str:
    """The text as it is shown to the model: without what controls a terminal, and cut at `LIMIT` with a mark; "" if
    nothing is left."""
    text = printable(text.strip()[:SEARCHED]).strip()
    written = text.encode("utf-8", "replace")
    if len(written) <= LIMIT:
        return text
    return written[: LIMIT - 4].decode("utf-8", "ignore") + " …"
