"""A dialect of words, for what the host does with a session that no extension of zot provokes.

Each line of the process is one message: `hello`, `ready`, `tool NAME`, `result ID TEXT`, `bad ID`, `progress ID TEXT`,
`warn KEY TEXT`, `remark TEXT`, `tell TEXT` (instructions), `unusable TEXT`, `hopeless TEXT`, `pong ID`, `echo BYTES`
(asks for so many bytes in return), `due SECONDS` (wants to be called then), `claim TOOL` (before the hello), `want KEY
TEXT` (a prompt to be sent, answered by `given KEY VALUE` or `refused KEY REASON`). Tests set the members of `DIALECT`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Raw

from wire import frames
from wire.dialects import table
from wire.dialects.base import (
    Dialect,
    HostCalled,
    Instructions,
    Message,
    NoHostCalls,
    Remarked,
    UnsendableError,
    Unusable,
    Warned,
)
from wire.dialects.host_calls import SendPrompt
from wire.framing import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.host import Host
    from wire.dialects.base import Received, RunSession, Setup
    from wire.framing import Line, Oversize

NAME = "scripted"
MESSAGES: dict[str, Callable[..., Message]] = {
    "ready": frames.Ready,
    "tool": lambda name: frames.RegisterTool(name, "A tool.", Raw(b'{"type":"object"}')),
    "result": lambda call_id, text: frames.ToolResult(call_id, [frames.ContentBlock("text", text)]),
    "bad": lambda call_id: frames.Malformed("it cannot be read", "result", call_id),
    "progress": frames.ToolProgress,
    "warn": Warned,
    "remark": Remarked,
    "tell": Instructions,
    "unusable": Unusable,
    "hopeless": lambda reason: Unusable(reason, may_pass=False),
    "pong": frames.Pong,
    "want": lambda key, text: HostCalled(key, SendPrompt(text)),
}
WITH_NOTHING = frozenset({"ready"})
WITH_TWO = frozenset({"result", "progress", "warn", "want"})
WITH_A_TEXT = frozenset({"remark", "tell", "unusable", "hopeless"})


class ScriptedDialect(Dialect):
    def __init__(self) -> None:
        self.observable: frozenset[str] = frozenset()
        self.guardable: frozenset[str] = frozenset()
        self.is_ready_by_silence = False
        self.is_extended_by_progress = True
        self.manifest_defaults: dict[str, object] = {}
        self.hello_s = self.launcher_hello_s = 5.0
        self.launchers: frozenset[str] = frozenset()
        self.settle_s = 0.0
        self.opening = b""
        self.stop = b""
        self.trouble = ""
        self.is_pinged = True
        self.ticks_every: float | None = None
        self.has_workspace = False
        self.session_variable = ""
        self.exit_s = 2.0
        self.term_s = 1.0
        self.drain_s = 0.0
        self.is_reloaded_with_session = False

    def session(self, setup: Setup) -> ScriptedSession:
        return ScriptedSession(self, setup)


class ScriptedSession(NoHostCalls):
    def __init__(self, dialect: ScriptedDialect, setup: Setup) -> None:
        self.dialect = dialect
        self.setup = setup
        self.opening = dialect.opening
        self.spoken = "words"
        self.trouble = dialect.trouble
        self.due_at: float | None = None
        self.claimed: list[str] = []

    def splitter(self) -> LineSplitter:
        return LineSplitter(1000)

    def receive(self, line: Line, now: float) -> Received:
        word, _, rest = bytes(line).decode().partition(" ")
        first, _, second = rest.partition(" ")
        if word == "due":
            self.due_at = now + float(first)
            return (), b""
        if word == "claim":
            self.claimed.append(first)
            return (), b""
        if word == "echo":
            return (), b"x" * (int(first) - 1) + b"\n"
        if word == "hello":
            return (frames.Hello(self.setup.name, "1", ["cancel", "ping"]),), b""
        return (MESSAGES.get(word, frames.UnknownFrame)(*_fit(word, rest, first, second)),), b""

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:
        return (
            frames.Malformed(f"a line of {dropped.size} bytes", "result", dropped.suffix.split()[-1].decode()),
        ), b""

    def on_time(self, now: float) -> Received:
        every = self.dialect.ticks_every
        self.due_at = None if every is None else now + every
        return (Remarked("it is time"),), b"tick\n"

    def greet(self, host: object, extension_dir: str, data_dir: str, now: float) -> bytes:
        return b"welcome\n"

    def reject(self, reason: str) -> bytes:
        return f"rejected {reason}\n".encode()

    def answer(self, key: str, value: object) -> bytes:
        if value == "unwritable":
            raise TypeError(value)
        return f"given {key} {value}\n".encode()

    def refuse(self, key: str, reason: str) -> bytes:
        return f"refused {key} {reason}\n".encode()

    def call(self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None) -> bytes:
        if tool == "unsendable":
            raise UnsendableError("this tool cannot be called")
        return f"call {call_id} {tool}\n".encode()

    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes:
        return b""

    def cancel(self, call_id: str, reason: str) -> bytes:
        return f"cancel {call_id}\n".encode()

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        return b""

    def tell(self, event: frames.Event) -> bytes:
        return b""

    def panel(self, change: object) -> bytes:
        return b""

    def ping(self, ping_id: str) -> bytes:
        return f"ping {ping_id}\n".encode() if self.dialect.is_pinged else b""

    def stop(self) -> bytes:
        return self.dialect.stop


def _fit(word: str, rest: str, first: str, second: str) -> tuple[str, ...]:
    if word in WITH_NOTHING:
        return ()
    if word in WITH_TWO:
        return first, second
    return (rest,) if word in WITH_A_TEXT else (first,) if word in MESSAGES else (word,)


DIALECT = ScriptedDialect()


def scripted_dialect() -> Iterator[ScriptedDialect]:
    """For a fixture: the dialect, with its members as at first, in the table until the end of the test."""
    DIALECT.__init__()  # type: ignore[misc]
    table.add(NAME, __name__)
    yield DIALECT
    del table.MODULES[NAME]


class Sh:
    """Processes of this dialect, in sh."""

    def __init__(self, host: Host, folder: Path) -> None:
        self._host = host
        self._folder = folder

    def add(self, name: str, script: str, **manifest: object) -> None:
        path = self._folder / f"{name}.sh"
        path.write_text(script)
        self._host._add(name, ["/bin/sh", str(path)], {"dialect": NAME, **manifest})
