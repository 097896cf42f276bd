"""A session as lines for a terminal. Nothing that was said controls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.sessions.export.wording import (
    clock_of,
    compaction_text,
    fault_text,
    image_text,
    title_of,
    usage_text,
    visible,
)
from agent.sessions.reading.arguments import named_arguments
from agent.sessions.reading.history import Compacted
from agent.transcript import Image, Text, Thinking, ToolCall, ToolResult
from cli.sessions.shared_options import shown
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.sessions.reading.history import History
    from agent.transcript import Block, Message

LINES = 8
"""Of a result, an argument and a thought, without `full`."""
CHARACTERS = 1000
"""Of these lines together."""
BOLD, DIM, RED, BLUE = "1", "2", "31", "34"
COLOURS = {"user": f"{BOLD};{BLUE}", "assistant": BOLD, "tool": BOLD}
ROLES = {"user": "user", "assistant": "assistant", "tool": "results"}


def lines_of(history: History, *, full: bool, style: bool) -> Iterator[str]:
    """All of the session, line by line. With `full` nothing is cut; `style` allows colours."""
    page = _Page(history.tool_names(), full=full, style=style)
    info = history.info
    yield page.styled(BOLD, title_of(history))
    yield f"session {shown(info.id)}, {shown(info.cwd)}, {shown(' '.join(filter(None, (info.provider, info.model))))}"
    if info.parent:
        yield f"a fork of {shown(info.parent)}, after its message {info.fork_point}"
    if faults := fault_text(history):
        yield page.styled(RED, faults)
    if history.summary:
        yield ""
        yield page.styled(BOLD, "summary")
        yield from printable(visible(history.summary)).split("\n")
    for step in history.steps():
        yield ""
        if isinstance(step, Compacted):
            yield from page.compaction(step)
        else:
            yield from page.message(*step)
    yield ""
    yield page.styled(DIM, f"{len(history.messages)} messages, {usage_text(info.usage)}")


class _Page:
    def __init__(self, tools: Mapping[str, str], *, full: bool, style: bool) -> None:
        self._tools = tools
        self._full = full
        self._style = style

    def styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._style and text else text

    def message(self, number: int, message: Message) -> Iterator[str]:
        head = self.styled(COLOURS[message.role], f"[{number}] {ROLES[message.role]}")
        yield f"{head}  {self.styled(DIM, clock_of(message.time))}".rstrip()
        for block in message.content:
            yield from self._block(block)

    def compaction(self, compacted: Compacted) -> Iterator[str]:
        yield self.styled(BOLD, f"--- {compaction_text(compacted)} ---")
        for message in compacted.messages[:1]:
            for block in message.content:
                if isinstance(block, Text):
                    yield from self._some(block.text, DIM)

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case Text(text):
                yield from _lines(text)
            case Image():
                yield f"  ({image_text(block)})"
            case Thinking(text):
                if not self._full:
                    yield self.styled(DIM, f"  (thought, {len(text)} characters)" if text else "  (thought, encrypted)")
                else:
                    yield self.styled(DIM, "  thought" if text else "  thought, encrypted")
                    yield from self._some(text, DIM)
            case ToolCall(_, name, args):
                yield f"  {self.styled(BOLD, 'call')} {shown(name, 200)}"
                for argument, value in named_arguments(args):
                    yield from self._argument(argument, value)
            case ToolResult(call_id, content, is_error):
                word = self.styled(RED, "error") if is_error else self.styled(BOLD, "result")
                yield f"  {word} of {shown(self._tools.get(call_id, ''), 200)}"
                for part in content:
                    if isinstance(part, Text):
                        yield from self._some(part.text)
                    else:
                        yield f"    ({image_text(part)})"

    def _argument(self, name: str, value: str) -> Iterator[str]:
        if "\n" in value or "\r" in value:
            yield f"    {shown(name, 200)}:" if name else "    arguments:"
            yield from self._some(value, indent="      ")
        else:
            yield from self._some(f"{shown(name, 200)}: {value}" if name else value)

    def _some(self, text: str, code: str = "", indent: str = "    ") -> Iterator[str]:
        """The text, or without `full` its beginning and how much is left out."""
        lines = _lines(text)
        kept: list[str] = []
        room = CHARACTERS
        for line in lines if self._full else lines[:LINES]:
            kept.append(line if self._full else line[:room])
            room -= len(line)
            if room <= 0 and not self._full:
                break
        for line in kept:
            yield indent + (self.styled(code, line) if code else line) if line else ""
        left = sum(map(len, lines)) + len(lines) - sum(map(len, kept)) - len(kept)
        if left > 0:
            yield indent + self.styled(DIM, f"… {left:,} more characters: --full shows them")


def _lines(text: str) -> list[str]:
    return printable(visible(text)).rstrip().split("\n") if text.strip() else []
