"""A session as lines for a terminal. Control characters of its texts are made harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.sessions.export.conversation import (
    CallPart,
    ConversationEntry,
    NotePart,
    Part,
    ResultPart,
    SummaryEntry,
    conversation_of,
)
from agent.sessions.export.labels import clock_of, fault_text, image_text, title_of, usage_text, visible
from agent.sessions.reading.arguments import named_arguments
from agent.transcript import Image, Text, Thinking
from cli.sessions.shared_options import short_text
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.sessions.reading.history import History

LINES = 8
"""Maximum number of shown lines of a result, an argument or a thought, without `full`."""
CHARACTERS = 1000
"""Maximum number of characters in these lines together."""
BOLD, DIM, RED, BLUE = "1", "2", "31", "34"
COLOURS = {"user": f"{BOLD};{BLUE}", "assistant": BOLD, "tool": BOLD}
ROLES = {"user": "user", "assistant": "assistant", "tool": "results"}


def lines_of(history: History, *, full: bool, style: bool) -> Iterator[str]:
    """The lines of the whole session. With `full` nothing is cut; `style` allows colours."""
    page = _TextPage(full=full, style=style)
    info = history.info
    yield page.styled(BOLD, title_of(history))
    model = " ".join(filter(None, (info.provider, info.model)))
    yield f"session {short_text(info.id)}, {short_text(info.cwd)}, {short_text(model)}"
    if info.parent:
        yield f"a fork of {short_text(info.parent)}, after its message {info.fork_point}"
    if faults := fault_text(history):
        yield page.styled(RED, faults)
    if history.summary:
        yield ""
        yield page.styled(BOLD, "summary")
        yield from printable(visible(history.summary)).split("\n")
    for step in conversation_of(history):
        yield ""
        yield from page.entry(step) if isinstance(step, ConversationEntry) else page.summary(step)
    yield ""
    yield page.styled(DIM, f"{len(history.messages)} messages, {usage_text(info.usage)}")


class _TextPage:
    def __init__(self, *, full: bool, style: bool) -> None:
        self._full = full
        self._style = style

    def styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._style and text else text

    def entry(self, entry: ConversationEntry) -> Iterator[str]:
        head = self.styled(COLOURS[entry.role], f"[{entry.number}] {ROLES[entry.role]}")
        yield f"{head}  {self.styled(DIM, clock_of(entry.time))}".rstrip()
        for part in entry.parts:
            yield from self._part(part)

    def summary(self, summary: SummaryEntry) -> Iterator[str]:
        yield self.styled(BOLD, f"--- {summary.title} ---")
        for text in summary.texts:
            yield from self._some(text, DIM)

    def _part(self, part: Part) -> Iterator[str]:
        match part:
            case Text(text):
                yield from _lines(text)
            case Image():
                yield f"  ({image_text(part)})"
            case Thinking(text):
                if not self._full:
                    yield self.styled(DIM, f"  (thought, {len(text)} characters)" if text else "  (thought, encrypted)")
                else:
                    yield self.styled(DIM, "  thought" if text else "  thought, encrypted")
                    yield from self._some(text, DIM)
            case CallPart(name, args):
                yield f"  {self.styled(BOLD, 'call')} {short_text(name, 200)}"
                for argument, value in named_arguments(args):
                    yield from self._argument(argument, value)
            case ResultPart():
                yield from self._result(part)
            case NotePart(text, is_bad):
                yield f"  {self.styled(RED if is_bad else DIM, short_text(text))}"

    def _result(self, result: ResultPart) -> Iterator[str]:
        word = self.styled(RED, "error") if result.is_error else self.styled(BOLD, "result")
        yield f"  {word} of {short_text(result.tool, 200)}"
        for part in result.content:
            if isinstance(part, Text):
                yield from self._some(part.text)
            else:
                yield f"    ({image_text(part)})"

    def _argument(self, name: str, value: str) -> Iterator[str]:
        if "\n" in value or "\r" in value:
            yield f"    {short_text(name, 200)}:" if name else "    arguments:"
            yield from self._some(value, indent="      ")
        else:
            yield from self._some(f"{short_text(name, 200)}: {value}" if name else value)

    def _some(self, text: str, code: str = "", indent: str = "    ") -> Iterator[str]:
        """The text; without `full` its beginning, and the number of characters left out."""
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
