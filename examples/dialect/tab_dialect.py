"""A dialect for shell scripts: each line is a message, and its fields are separated by tabs.

the process says                         the host says
hello VERSION                            start CWD
tool NAME DESCRIPTION PARAMETER...       call ID TOOL NAME=VALUE...
guard                                    judge ID TOOL ARGUMENTS-AS-JSON
ready
out ID TEXT, then done ID or failed ID   its input ends: exit
allow ID, or deny ID REASON
log TEXT
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from wire import frames
from wire.dialects.base import Dialect, GuardAnswer, NoHostCalls, Remarked, UnsendableError, Unusable
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.framing import LineSplitter
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.dialects.base import HostInfo, Message, PanelChange, Received, Setup
    from wire.framing import Line, Oversize

LINE_LIMIT = 64 * 1024
"""Bytes."""
RESULT_LIMIT = 256 * 1024
"""Characters of one result: what a session keeps has a limit, whatever the process says."""
ANSWERS = {"out": "tool_result", "done": "tool_result", "failed": "tool_result"}
ANSWERS |= dict.fromkeys(("allow", "deny"), "event_intercept_response")


class TabSession(NoHostCalls):
    """One process. It keeps the lines of results that are not complete."""

    opening = b""
    due_at: float | None = None
    spoken = "tabs"
    trouble = ""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._is_greeted = False
        self._results: dict[str, list[str]] = {}
        """The lines so far of each call that the host waits for."""

    def splitter(self) -> LineSplitter:
        return LineSplitter(min(LINE_LIMIT, self._setup.frame_limit), shortest=len("guard"))

    # --- what the process says ------------------------------------------------------------------------------

    def receive(self, line: Line, now: float) -> Received:
        word, *fields = bytes(line).decode("utf-8", "replace").rstrip("\r").split("\t")
        if not self._is_greeted and word in ("tool", "guard", "ready"):
            return (Unusable(f"its first line must be hello, not {word}", may_pass=False),), b""
        try:
            message = self._message(word, fields)
        except IndexError:
            message = self._lost(word, fields, f"a line {word!r} lacks a field")
        return (() if message is None else (message,)), b""

    def _message(self, word: str, fields: list[str]) -> Message | None:
        match word:
            case "hello":
                self._is_greeted = True
                # Only with the capability is `cancel` called, which forgets the call.
                return frames.Hello(self._setup.name, fields[0], ["cancel"])
            case "tool":
                return frames.RegisterTool(fields[0], fields[1], schema_of(fields[2:]))
            case "guard":
                return frames.Subscribe(intercept=["tool_call"])
            case "ready":
                return frames.Ready()
            case "log":
                return frames.Log(fields[0])
            case "allow":
                return GuardAnswer(fields[0], ALLOW)
            case "deny":
                return GuardAnswer(fields[0], GuardVerdict(VerdictKind.DENY, fields[1]))
            case "out":
                return self._on_out(fields[0], fields[1])
            case "done" | "failed":
                text = "\n".join(self._results.pop(fields[0], ()))
                return frames.ToolResult(fields[0], [frames.ContentBlock("text", text)], is_error=word == "failed")
        return frames.UnknownFrame(word)

    def _on_out(self, call_id: str, text: str) -> Message | None:
        lines = self._results.get(call_id)
        if lines is None:
            return Remarked(f"a line of the result {call_id[:20]!r}, which no request waits for")
        lines.append(text)
        if sum(map(len, lines)) > RESULT_LIMIT or len(lines) > RESULT_LIMIT // 64:
            return self._lost("out", [call_id], f"a result has more than {RESULT_LIMIT} characters, or too many lines")
        return None

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:
        word, *fields = dropped.prefix.decode("utf-8", "replace").split("\t")
        return (self._lost(word, fields, f"a line of {dropped.size} bytes; {dropped.limit} are allowed"),), b""

    def _lost(self, word: str, fields: list[str], why: str) -> Message:
        """Reports an unreadable line. With its id, the request that it should have answered fails at once."""
        call_id = fields[0] if fields and word in ANSWERS else None
        self._results.pop(call_id or "", None)
        return frames.Malformed(why, ANSWERS.get(word), call_id)

    def on_time(self, now: float) -> Received:
        return (), b""

    # --- what the host says ---------------------------------------------------------------------------------

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str, now: float) -> bytes:
        return line_of("start", host.cwd)

    def call(self, call_id: str, tool: str, args: bytes, tool_id: str = "") -> bytes:
        try:
            values = msgspec.json.decode(args, type=dict[str, str])
        except UNREADABLE:
            raise UnsendableError("this extension takes text only") from None
        line = line_of("call", call_id, tool, *(f"{name}={value}" for name, value in values.items()))
        self._results[call_id] = []
        return line

    def cancel(self, call_id: str, reason: str) -> bytes:
        self._results.pop(call_id, None)
        return b""  # a script cannot be told while it works

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        args = b"{}" if event.tool_args is msgspec.UNSET else bytes(event.tool_args)
        # Text in JSON has its tabs and line breaks escaped: those that are left separate its parts.
        return line_of("judge", call_id, flat(event.tool_name or ""), flat(args.decode("utf-8", "replace")))

    def stop(self) -> bytes:
        return b""  # the end of its input stops a loop of `read`

    # This protocol has none of these.
    def invoke(self, call_id: str, command: str, args: str) -> bytes:
        raise UnsendableError("this protocol has no commands")

    def tell(self, event: frames.Event) -> bytes:
        return b""

    def panel(self, change: PanelChange) -> bytes:
        return b""

    def ping(self, ping_id: str) -> bytes:
        return b""


def line_of(*fields: str) -> bytes:
    """A line of these fields. Raises `UnsendableError`: text from the model may have a line break or a tab."""
    for field in fields:
        if "\t" in field or "\n" in field or "\r" in field:
            raise UnsendableError("a value with a line break or a tab cannot be sent to this extension")
    return "\t".join(fields).encode("utf-8", "replace") + b"\n"


def flat(text: str) -> str:
    return text.translate({ord(character): " " for character in "\t\n\r"})


def schema_of(parameters: list[str]) -> msgspec.Raw:
    """The schema of a tool whose parameters are all text, and all required."""
    properties = {name: {"type": "string"} for name in parameters}
    schema = {"type": "object", "properties": properties, "required": parameters, "additionalProperties": False}
    return msgspec.Raw(json.dumps(schema).encode())


class TabDialect(Dialect):
    """The abilities of all extensions of this dialect, for the host."""

    observable: frozenset[str] = frozenset()
    guardable = frozenset({"tool_call"})
    is_ready_by_silence = False
    is_extended_by_progress = False
    manifest_defaults: Mapping[str, Any] = {"env_policy": "minimal"}
    hello_s = 5.0
    launcher_hello_s = 5.0
    launchers: frozenset[str] = frozenset()
    settle_s = 0.0

    def session(self, setup: Setup) -> TabSession:
        return TabSession(setup)


DIALECT = TabDialect()
