"""What was said and done in one attempt of a task, from its file of events. All of it is bounded."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from agent.batch.journal.errors import FolderError
from agent.batch.journal.own_files import IN_RUNS, open_own
from wire import events
from wire.lenient_json import UNREADABLE, repaired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

HEAD_BYTES, TAIL_BYTES = 1 << 20, 3 << 20
"""Of a long file, what is read from its beginning and from its end: the end tells why a run failed."""
TEXT_CHARACTERS = 8 * 1024
"""Of one text; of a longer one the middle is left out."""
ENTRY_CHARACTERS = 200
"""What an entry counts beside its texts."""
HEAD_SHARE = 0.25
"""Of a conversation that is too long, the part that is kept from its beginning; the rest is kept from its end."""


class Kind(Enum):
    PROMPT = "prompt"
    TEXT = "text"
    """Of the model."""
    TOOL = "tool"
    TURN = "turn"
    """A turn begins."""
    NOTICE = "notice"
    """Something that happened: a retry, a summary, an extension that ended."""
    ERROR = "error"
    GAP = "gap"
    """Something is left out here."""


class Entry(msgspec.Struct):
    """One thing of a conversation, in the order in which it began. Texts are cut to `TEXT_CHARACTERS`."""

    kind: Kind
    text: str = ""
    """Of a tool: its arguments as JSON."""
    title: str = ""
    """Of a tool: its name."""
    result: str | None = None
    """Of a tool; None if there was none."""
    is_bad: bool = False

    @property
    def size(self) -> int:
        return ENTRY_CHARACTERS + len(self.text) + len(self.title) + len(self.result or "")


class Conversation(msgspec.Struct):
    """The events of one attempt."""

    entries: list[Entry] = []
    is_there: bool = True
    """Whether there is a file of events."""
    is_done: bool = False
    """Whether the stream ends as it should, with `done`."""
    unread: int = 0
    """Lines that could not be read."""
    left_out_bytes: int = 0
    """In the middle of the file."""


def cut(text: str, most: int = TEXT_CHARACTERS) -> str:
    """At most about `most` characters: three quarters of them from the beginning, the others from the end."""
    if len(text) <= most:
        return text
    head = most * 3 // 4
    tail = most - head
    return f"{text[:head]}\n… {len(text) - most:,} characters are left out here …\n{text[len(text) - tail :]}"


def read_conversation(path: Path) -> Conversation:
    """The events in a file, also one that is missing, cut off, still written, or none of the batch's."""
    fold = _Fold()
    try:
        fd = open_own(path, own=IN_RUNS)
    except OSError:
        return Conversation(is_there=False)
    except FolderError as error:
        return Conversation([Entry(Kind.ERROR, str(error), is_bad=True)], is_there=False)
    with open(fd, "rb") as file:
        try:
            size = os.fstat(fd).st_size
            if size <= HEAD_BYTES + TAIL_BYTES:
                fold.take(_lines(file.read(HEAD_BYTES + TAIL_BYTES)))
            else:
                head = file.read(HEAD_BYTES)
                fold.take(_lines(head[: head.rfind(b"\n") + 1]))
                file.seek(size - TAIL_BYTES)
                tail = file.read(TAIL_BYTES)
                begin = tail.find(b"\n") + 1
                fold.leave_out(size - TAIL_BYTES + begin - head.rfind(b"\n") - 1)
                fold.take(_lines(tail[begin:]))
        except OSError:
            fold.conversation.unread += 1
    return fold.finish()


def _lines(text: bytes) -> Iterator[bytes]:
    return (line + b"\n" for line in text.split(b"\n") if line)


_decoder: msgspec.json.Decoder[events.AnyRecord] = msgspec.json.Decoder(events.AnyRecord)


class _Fold:
    """Takes the lines of a stream in their order."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self._calls: dict[str, Entry] = {}
        """Calls without a result so far."""
        self._said: list[str] = []
        """Pieces of a text whose message has not come."""

    def take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            record = _decoded(line)
            if record is None:
                self.conversation.unread += 1
            else:
                self._take(record)

    def leave_out(self, count: int) -> None:
        self.conversation.left_out_bytes = count
        self._add(Kind.GAP, f"{count:,} bytes of the events are left out here")

    def finish(self) -> Conversation:
        if said := "".join(self._said).strip():
            self._add(Kind.TEXT, said)
            self._add(Kind.ERROR, "the message does not end: the stream is cut off here")
        for entry in self._calls.values():
            entry.is_bad = True
        return self.conversation

    def _add(self, kind: Kind, text: str, *, title: str = "") -> Entry:
        entry = Entry(kind, cut(text), title, is_bad=kind is Kind.ERROR)
        self.conversation.entries.append(entry)
        return entry

    def _take(self, record: events.AnyRecord) -> None:
        match record:
            case events.TextDelta(delta=delta):
                self._said.append(delta)
            case events.TurnStart(step=step):
                self._add(Kind.TURN, str(step))
            case events.UserMessage(content=content):
                self._add(Kind.PROMPT, _words(content))
            case events.AssistantMessage(content=content):
                self._said.clear()
                if said := _words(content):
                    self._add(Kind.TEXT, said)
            case events.ToolCall() | events.ToolResult():
                self._tool(record)
            case events.Done():
                self.conversation.is_done = True
            case _:
                if told := _told(record):
                    self._add(*told)

    def _tool(self, record: events.ToolCall | events.ToolResult) -> None:
        if isinstance(record, events.ToolCall):
            arguments = bytes(record.args).decode("utf-8", "replace")
            title = f"{record.name} ({record.extension})" if record.extension else record.name
            self._calls[record.id] = self._add(Kind.TOOL, arguments, title=title)
            return
        entry = self._calls.pop(record.id, None)
        if entry is None:
            entry = self._add(Kind.TOOL, "", title="a call that is not shown")
        entry.result, entry.is_bad = cut(_words(record.content)), record.is_error


def _told(record: events.AnyRecord) -> tuple[Kind, str] | None:
    """What a record says that is not a part of the conversation itself; None for those without interest."""
    match record:
        case events.TurnEnd(stop=stop, error=error) if stop in ("error", "aborted", "length"):
            return Kind.ERROR, f"the turn ended with {stop}" + (f": {error}" if isinstance(error, str) else "")
        case events.Error(message=message):
            return Kind.ERROR, message
        case events.Extension(event=event) if event != "started":
            kind = Kind.ERROR if event in ("failed", "blocked") else Kind.NOTICE
            return kind, f"{record.extension} {event}: {record.message}"
        case events.Retry():
            return Kind.NOTICE, f"request sent again after {record.wait_s:g} s: {record.reason}"
        case events.CompactDone():
            shorter = f"{record.messages_before} messages became {record.messages_after}"
            return Kind.NOTICE, f"the conversation was summed up: {shorter}\n{record.summary}"
    return None


def _decoded(line: bytes) -> events.AnyRecord | None:
    try:
        return _decoder.decode(line)
    except UNREADABLE:
        mended = repaired(line)
    try:
        return None if mended is None else _decoder.decode(mended)
    except UNREADABLE:
        return None


def _words(content: Iterable[events.Content]) -> str:
    """The texts, and a line for each image; without calls, which have records of their own."""
    parts = []
    for part in content:
        if isinstance(part, events.TextContent):
            parts.append(part.text)
        elif isinstance(part, events.ImageContent):
            parts.append(f"[image: {part.mime_type}, {part.bytes:,} bytes]")
    return "\n".join(part for part in parts if part.strip())


def shortened(entries: list[Entry], most: int) -> list[Entry]:
    """Entries of at most `most` characters: of a longer conversation its beginning and its end."""
    if sum(entry.size for entry in entries) <= most:
        return entries
    head = _fitting(entries, int(most * HEAD_SHARE))
    rest = entries[head:]
    tail = _fitting(reversed(rest), most - int(most * HEAD_SHARE))
    left_out = len(rest) - tail
    if not left_out:
        return entries
    gap = Entry(Kind.GAP, f"{left_out:,} steps are left out here")
    return [*entries[:head], gap, *entries[len(entries) - tail :]]


def _fitting(entries: Iterable[Entry], most: int) -> int:
    """How many of the first entries have at most `most` characters together."""
    count = 0
    for entry in entries:
        most -= entry.size
        if most < 0:
            break
        count += 1
    return count
