"""A dialect whose processes want something from their host: each line is a JSON object, in both directions.

A process says `{"say": NAME, ...}` with NAME hello, tool (name), command (name), hooks (events, intercept), ready,
want (key, call and its fields), pong (id), result (id, text), verdict (id, block?, context?), done (id), note
(text) or working (is).
The host says `{"host": NAME, ...}` with welcome, event, ask, call, command, ping, answer and refuse.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from tests.support.extension_folder import folder
from wire import frames
from wire.dialects import host_calls, table
from wire.dialects.base import EVENTS, HOOK_POINTS, Dialect, GuardAnswer, HostCalled
from wire.dialects.verdict import GuardVerdict, VerdictKind
from wire.framing import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from wire.dialects.base import HostInfo, Received, RunSession, Setup

NAME = "calling"
ZOT = (
    "import sys; from wire.dialects import table; table.add('calling', 'tests.support.calling_dialect');"
    "sys.argv[0] = 'zot'; from pyzot.__main__ import main; sys.exit(main())"
)
"""The program `zot`, which knows this dialect."""
PRELUDE = """\
import json, os, sys
def say(_kind, **fields): print(json.dumps({"say": _kind, **fields}), flush=True)
def want(_call, _key="k", **fields): say("want", key=_key, call=_call, fields=fields)
def hello(*, events=(), intercept=(), tools=(), commands=()):
    say("hello")
    for name in tools: say("tool", name=name)
    for name in commands: say("command", name=name)
    say("hooks", events=list(events), intercept=list(intercept))
    say("ready")
def heard():
    for line in sys.stdin:
        host = json.loads(line)
        if host["host"] == "ping": say("pong", id=host["id"])
        else: yield host["host"], host
"""


class CallingDialect(Dialect):
    observable = EVENTS
    guardable = HOOK_POINTS
    is_ready_by_silence = False
    is_extended_by_progress = False
    manifest_defaults: Mapping[str, Any] = {}
    hello_s = launcher_hello_s = 10.0
    launchers: frozenset[str] = frozenset()
    settle_s = 10.0
    has_workspace = True
    session_variable = "SESSION_ID"
    is_reloaded_with_session = True

    def session(self, setup: Setup) -> CallingSession:
        return CallingSession(setup)


class CallingSession:
    opening = b""
    due_at: float | None = None
    spoken = "calls"
    trouble = ""
    claimed = note_heads = ()
    is_working = False
    may_send = True

    def __init__(self, setup: Setup) -> None:
        self._name = setup.name

    def splitter(self) -> LineSplitter:
        return LineSplitter(64 << 20)

    def receive(self, line: Any, now: float) -> Received:
        said = json.loads(bytes(line))
        if said["say"] == "working":
            self.is_working = said["is"]
            return (), b""
        return (self._message(said),), b""

    def _message(self, said: dict[str, Any]) -> Any:  # noqa: C901
        match said["say"]:
            case "hello":
                return frames.Hello(self._name, "1", ["ping", "cancel"])
            case "tool":
                return frames.RegisterTool(said["name"], "A tool.", Raw(b'{"type":"object"}'))
            case "command":
                return frames.RegisterCommand(said["name"], "A command.")
            case "hooks":
                return frames.Subscribe(said["events"], said["intercept"])
            case "ready":
                return frames.Ready()
            case "pong":
                return frames.Pong(said["id"])
            case "result":
                return frames.ToolResult(said["id"], [frames.ContentBlock("text", said["text"])])
            case "verdict":
                blocked, context = said.get("block"), said.get("context") or ""
                kind = VerdictKind.ALLOW if blocked is None else VerdictKind.DENY
                return GuardAnswer(said["id"], GuardVerdict(kind, blocked or "", additional_context=context))
            case "done":
                prompt = said.get("prompt")
                return frames.CommandResponse(said["id"], action="prompt" if prompt else "noop", prompt=prompt)
            case "note":
                return frames.Notify("info", said["text"])
            case "want":
                return HostCalled(said["key"], msgspec.convert(said["fields"], type=getattr(host_calls, said["call"])))
        return frames.UnknownFrame(said["say"])

    def receive_oversize(self, dropped: Any, now: float) -> Received:
        return (), b""

    def on_time(self, now: float) -> Received:
        return (), b""

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str, now: float) -> bytes:
        return _line("welcome", session=host.session_id, workspace=host.workspace)

    def reject(self, reason: str) -> bytes:
        return _line("reject", reason=reason)

    def call(self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None) -> bytes:
        return _line("call", id=call_id, tool=tool, args=json.loads(args))

    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes:
        return _line("command", id=call_id, command=command, args=args)

    def cancel(self, call_id: str, reason: str) -> bytes:
        return b""

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        return _line("ask", id=call_id, **_plain(event))

    def tell(self, event: frames.Event) -> bytes:
        return _line("event", **_plain(event))

    def panel(self, change: object) -> bytes:
        return b""

    def answer(self, key: str, value: Any) -> bytes:
        return _line("answer", key=key, value=value)

    def refuse(self, key: str, reason: str) -> bytes:
        return _line("refuse", key=key, reason=reason)

    def ping(self, ping_id: str) -> bytes:
        return _line("ping", id=ping_id)

    def stop(self) -> bytes:
        return b""


def _line(kind: str, **fields: Any) -> bytes:
    return msgspec.json.encode({"host": kind, **fields}) + b"\n"


def _plain(event: frames.Event) -> dict[str, Any]:
    plain = json.loads(frames.encode(event))
    del plain["type"]
    return plain


DIALECT = CallingDialect()


@contextmanager
def known() -> Iterator[None]:
    """The dialect is in the table of this process."""
    table.add(NAME, __name__)
    try:
        yield
    finally:
        del table.MODULES[NAME]


def caller(parent: Path, name: str, program: str, **manifest: Any) -> Path:
    """A folder with an extension of this dialect; `program` follows `PRELUDE`."""
    argv = [sys.executable, "-I", "-S", "-c", PRELUDE + program]
    return folder(parent, name, argv, dialect=NAME, **manifest)
