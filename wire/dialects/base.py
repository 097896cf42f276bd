"""A dialect is one extension protocol. Its sessions translate between neutral messages and the bytes of one process.

The neutral messages are the frames of `wire.frames`, and the few classes here for which zot's protocol has no frame. A
verdict is always a `GuardAnswer`; `InterceptResponse` is only its form in zot's protocol. A session is pure: no files,
no descriptors, and no clock but `Setup.unix_ms`. `wire.dialects.table` lists the dialects.
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
    from wire.trace_context import TraceContext

HOOK_POINTS = frozenset(
    {
        "session_start", "user_prompt", "turn_start", "tool_call", "tool_result", "assistant_message", "error",
        "session_end", "before_agent_start",
    }
)  # fmt: skip
"""Events that an extension of some dialect can guard. `tool_result` covers successes and failures."""
EVENTS = HOOK_POINTS - {"before_agent_start"} | {
    "turn_end", "usage", "idle", "user_prompt_submit", "permission_decision", "pre_compact", "post_compact",
    "tool_confirmation_requested", "subagent_start", "subagent_stop",
}  # fmt: skip
"""Events that an extension of some dialect can observe. `usage`: the tokens of one request to the model. `idle`: a
prompt has ended, and no other one waits. An agent of ours sends no event of the last line: it has neither a person who
confirms calls nor subagents. A client of `zot host` may have them."""


def unix_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class HostInfo(msgspec.Struct, frozen=True):
    """Facts about the host that an extension gets in the handshake."""

    version: str
    provider: str
    model: str
    cwd: str
    session_id: str = ""
    """Id of the session at the start of the host; it stays the same until the host ends."""
    workspace: str = ""
    """A folder for notes and files of that session; "" if the host has none."""


class RunSession(msgspec.Struct, frozen=True):
    """The run for which a frame goes to an extension that serves several."""

    id: str
    """The id of its session."""
    cwd: str
    """The folder in which it works."""


class Setup(msgspec.Struct, frozen=True):
    """The parameters of a new session."""

    name: str
    """The extension's name in its manifest."""
    host_version: str
    frame_limit: int
    """Maximum size of a message of the process in bytes, if the limit of its kind is not lower."""
    options: Mapping[str, Any] = {}
    """Settings of this extension for its dialect."""
    kept: dict[str, Any] = msgspec.field(default_factory=dict)
    """Values that a session leaves for the next session of the same extension, also after a restart."""
    unix_ms: Callable[[], int] = unix_ms
    """Returns the time for messages. No decision depends on it."""


# --- neutral messages without a frame -----------------------------------------------------------------------


class Warned(msgspec.Struct, frozen=True):
    """A warning for the user, shown once for each `key`."""

    key: str
    text: str


class Remarked(msgspec.Struct, frozen=True):
    """A line for the extension's log alone."""

    text: str


class Unusable(msgspec.Struct, frozen=True):
    """The process cannot be used: the host gives it up for this reason."""

    reason: str
    may_pass: bool = True
    """Whether another start may succeed. If not, it is not restarted."""


class GuardAnswer(msgspec.Struct, frozen=True, gc=False, tag="event_intercept_response"):
    """The answer to the question with this id. Its tag is its name for users."""

    id: str
    verdict: GuardVerdict
    session_id: str | None = None
    """The session that the answer names."""


class Instructions(msgspec.Struct, frozen=True):
    """A text about this extension for the system prompt; "" removes it."""

    text: str


class HostCalled(msgspec.Struct, frozen=True):
    """A request to the host, which calls `DialectSession.answer` or `DialectSession.refuse` once for each key."""

    key: str
    call: HostCall
    untold: str = ""
    """If set, the process does not learn of a refusal: the user is told by this text, with the reason behind it."""


class HostCallCancelled(msgspec.Struct, frozen=True):
    """The process no longer needs the answer to its request with this key. Answered like any other request."""

    key: str


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
    | HostCallCancelled
)

Received = tuple[Sequence[Message], bytes]
"""The messages in a line, and the bytes to send in return, which may be empty."""


class UnsendableError(Exception):
    """A request cannot be put into the bytes of this dialect; the text says why."""


class Splitter(Protocol):
    """Cuts the output of a process into messages. The limit bounds its memory."""

    pending: int
    """Number of bytes held back because the message is not complete."""
    shortest: int
    """Length of the shortest possible message in bytes. Of more than 1,000 messages at once, shorter ones are dropped
    unread and counted as junk."""
    has_more: bool
    """Whether the next `feed` returns more, even for an empty chunk: the time of each call is bounded."""

    def feed(self, data: bytes) -> list[Line | Oversize]: ...
    def finish(self) -> Line | Oversize | None: ...


class DialectSession(Protocol):
    """The protocol between the host and one process, from its start to its end. Pure.

    Times are seconds of the host's clock. Methods that return bytes return the bytes to send to the process; empty
    bytes mean that nothing is sent. The ids of requests are the host's, and come back in the answers.
    """

    opening: bytes
    """The first bytes from the host; empty if the process speaks first."""
    due_at: float | None
    """The time at which to call `on_time`; None if never. Read it after each call of a method that gets the time."""
    trouble: str
    """The probable reason for a missing hello; "" if unknown."""
    claimed: Sequence[str]
    """Tools that it registers after its hello and that no other extension may have: if one has such a tool, the hello
    is not accepted. Read at the hello."""

    @property
    def note_heads(self) -> tuple[bytes, ...]:
        """The first bytes of lines that can only be notes. While its notes come too fast, the host drops such lines
        unread. Empty before its hello."""

    @property
    def may_send(self) -> bool:
        """Whether the process may send a prompt as it reacts to an event: a run waits for that before it ends."""

    @property
    def spoken(self) -> str:
        """The protocol of the process with its version: `MCP 2025-11-25`; "" until it is known."""

    @property
    def is_working(self) -> bool:
        """Whether it still handles something that it was told, and may send the host a request afterwards."""

    def splitter(self) -> Splitter: ...

    def receive(self, line: Line, now: float) -> Received:
        """Takes one message of the process. Never raises."""

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:
        """Takes the kept ends of a message that was too long. A `Malformed` with the `id` of a request fails that
        request."""

    def on_time(self, now: float) -> Received:
        """Does the work that is due at `due_at`."""

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str, now: float) -> bytes:
        """Answers a `Hello` that the host has accepted."""

    def reject(self, reason: str) -> bytes:
        """Answers a `Hello` that the host has not accepted; the process is then ended."""

    def call(
        self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None,
        context: TraceContext | None = None,
    ) -> bytes:  # fmt: skip
        """Calls a tool. `args` is JSON text; `tool_id` is the id of the call in events, or "" without events; `run` is
        the run that it is for, if the process serves several; `context` the span of the call, for processes that go on
        with its trace. Raises `UnsendableError`."""

    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes:
        """Runs a slash command. `run`: as with `call`. Raises `UnsendableError`."""

    def cancel(self, call_id: str, reason: str) -> bytes:
        """Cancels a call or a command: its answer is no longer needed."""

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        """Asks for a verdict on an event that the extension guards."""

    def tell(self, event: frames.Event) -> bytes:
        """Reports an event that the extension observes. It has `session_id`, `cwd` and `sequence`. `session_end` has a
        `SessionEnd` as its reason, or `session_switch`: another session follows in the same process."""

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
    """Base of sessions whose process sends no requests to its host and claims no names."""

    __slots__ = ()
    claimed: Sequence[str] = ()
    is_working = False

    @property
    def note_heads(self) -> tuple[bytes, ...]:
        return ()

    @property
    def may_send(self) -> bool:
        return False

    def reject(self, reason: str) -> bytes:  # noqa: ARG002
        return b""

    def answer(self, key: str, value: Any) -> bytes:
        raise NotImplementedError

    def refuse(self, key: str, reason: str) -> bytes:
        raise NotImplementedError


class Dialect(Protocol):
    """One extension protocol: its sessions, its hook points and its defaults. Subclasses inherit the defaults below."""

    observable: frozenset[str]
    """Events that an extension of this dialect can observe."""
    guardable: frozenset[str]
    """Events that an extension of this dialect can guard."""
    is_ready_by_silence: bool
    """Whether 250 ms without a message after the hello count as ready."""
    is_extended_by_progress: bool
    """Whether each progress report of a call restarts its time limit, up to ten times the limit in all."""
    manifest_defaults: Mapping[str, Any]
    """Defaults for fields that a manifest does not set: `{"restart": {"policy": "permanent"}}`."""
    hello_s: float
    """Seconds to wait for the hello if the manifest does not set them."""
    launcher_hello_s: float
    """Seconds to wait for the hello if `exec` is a launcher, which may download the program first."""
    launchers: frozenset[str]
    settle_s: float
    """Seconds that a run waits for such an extension before its first request; 0: only while the model starts."""
    has_workspace: bool = False
    """Whether a host with an agent has a folder of the session for its extensions."""
    session_variable: str = ""
    """The environment variable with `HostInfo.session_id`; "" if the process does not need it."""
    exit_s: float = 2.0
    """Seconds from the request to stop until SIGTERM."""
    term_s: float = 1.0
    """Seconds from SIGTERM to SIGKILL when a process is stopped."""
    drain_s: float = 0.0
    """Seconds that a stopping process may take to answer a ping before its input is closed: it drops unread input at
    that moment. 0: its input is closed at once. Only for a dialect whose `stop` is empty."""
    is_reloaded_with_session: bool = False
    """Whether such an extension restarts when another session replaces the host's, as `clear` does."""

    def session(self, setup: Setup) -> DialectSession: ...


LIMIT = 2048
"""Maximum size of the instructions of an extension in bytes."""
SEARCHED = 4 * LIMIT
"""Number of characters in which control sequences are searched."""


def cut_instructions(text: str) -> str:
    """Returns the text for the model: without control sequences, cut at `LIMIT` with a mark; "" if it is empty."""
    text = printable(text.strip()[:SEARCHED]).strip()
    written = text.encode("utf-8", "replace")
    if len(written) <= LIMIT:
        return text
    return written[: LIMIT - 4].decode("utf-8", "ignore") + " …"
