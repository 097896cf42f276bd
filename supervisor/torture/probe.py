"""The question by which a trial sees that an extension still serves: a tool, a guard, a command or a ping. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.torture.arguments import text_argument, valid_arguments
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.registry.registration import Tool
    from wire.dialects.base import DialectSession, RunSession

WRITING_WORDS = frozenset(
    {
        "add", "append", "clear", "commit", "create", "delete", "deploy", "drop", "edit", "exec", "execute", "forget",
        "insert", "install", "kill", "merge", "move", "pay", "post", "publish", "push", "put", "remove", "rename",
        "reset", "rm", "run", "save", "send", "set", "shell", "stop", "update", "upload", "write",
    }
)  # fmt: skip
"""Words in the names of tools that are called only if the extension has no other tool, command or guard."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
GUARDED_FIRST = ("tool_call", "turn_start", "user_prompt", "assistant_message")
"""Events in the order in which a guard is asked about one of them."""


class ProbeKind(Enum):
    """The kinds of questions. Users see the values."""

    TOOL = "tool"
    GUARD = "guard of"
    COMMAND = "command"
    PING = "ping"


@dataclass(frozen=True)
class Probe:
    """A question to the extension that has an answer."""

    kind: ProbeKind
    name: str
    args: dict[str, Any] | None = None
    """Valid arguments of the tool."""
    text_at: str | None = None
    """The tool's argument that takes any text."""

    def __str__(self) -> str:
        sign = "/" if self.kind is ProbeKind.COMMAND else ""
        return f"{self.kind.value} {sign}{self.name}".rstrip()

    @property
    def takes_text(self) -> bool:
        return self.kind in (ProbeKind.GUARD, ProbeKind.COMMAND) or self.text_at is not None

    def question(
        self, session: DialectSession, call_id: str, text: str | None = None, run: RunSession | None = None
    ) -> bytes:
        """The bytes of one question, with this text if it takes one. Raises `UnsendableError`."""
        match self.kind:
            case ProbeKind.TOOL:
                args = dict(self.args or {})
                if text is not None and self.text_at is not None:
                    args[self.text_at] = text
                return session.call(call_id, self.name, msgspec.json.encode(args), run=run)
            case ProbeKind.COMMAND:
                return session.invoke(call_id, self.name, text or "", run)
            case ProbeKind.GUARD:
                return session.ask(call_id, sample_event(self.name, text or "all is well", run))
            case ProbeKind.PING:
                return session.ping(call_id)


def choose_probe(
    tools: Iterable[Tool], commands: Iterable[str], guards: Iterable[str], *, can_ping: bool
) -> Probe | None:
    """A tool that only reads, else one without a word of `WRITING_WORDS`, else a guard, a command, any tool, a ping;
    None if the extension answers nothing. A tool that waits for a person is never called."""
    offered = sorted(
        (tool for tool in tools if not tool.is_interactive),
        key=lambda tool: (not tool.read_only, not tool.retry, text_argument(tool) is None),
    )
    harmless = [tool for tool in offered if tool.read_only or not writing_words(tool.name)]
    guarded = set(guards)
    if harmless:
        return _tool_probe(harmless[0])
    for event in (*GUARDED_FIRST, *sorted(guarded)):
        if event in guarded:
            return Probe(ProbeKind.GUARD, event)
    named = sorted(commands, key=lambda name: bool(writing_words(name)))
    if named:
        return Probe(ProbeKind.COMMAND, named[0])
    if offered:
        return _tool_probe(offered[0])
    return Probe(ProbeKind.PING, "") if can_ping else None


def _tool_probe(tool: Tool) -> Probe:
    return Probe(ProbeKind.TOOL, tool.name, valid_arguments(tool), text_argument(tool))


def writing_words(name: str) -> set[str]:
    """The words of a name that say that something is changed."""
    return {word.lower() for word in _WORD.findall(name)} & WRITING_WORDS


def sample_event(name: str, text: str, run: RunSession | None = None, sequence: int | None = None) -> frames.Event:
    """An event of this name that a run might have."""
    fields: dict[str, Any] = {"sequence": sequence}
    if run is not None:
        fields |= {"session_id": run.id, "cwd": run.cwd}
    if name in ("tool_call", "tool_result"):
        args = msgspec.Raw(msgspec.json.encode({"command": text}))
        fields |= {"tool_id": "call-1", "tool_name": "bash", "tool_args": args}
    if name == "tool_result":
        fields |= {"content": [frames.ContentBlock("text", text)], "is_error": False}
    if name in ("turn_start", "turn_end"):
        fields["step"] = 1
    if name in ("assistant_message", "user_prompt", "session_start", "session_end"):
        fields["text"] = text
    if name == "session_start":
        fields["source"] = "startup"
    if name == "session_end":
        fields["reason"] = "complete"
    if name == "error":
        fields |= {"error": text, "error_context": "model_call", "recoverable": True}
    if name == "before_agent_start":
        fields |= {"system_prompt": text, "provider": "none", "model": "none", "agent_run_id": "run-1"}
    return frames.Event(name, **fields)
