"""The conversation of one attempt of a task, from its file of events. Its length is bounded."""

from __future__ import annotations

import os
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import IN_RUNS, open_rundir_file
from agent.sessions.export.conversation import CallPart, ConversationEntry, NotePart, Part, ResultPart
from agent.transcript import Text
from wire import events
from wire.lenient_json import UNREADABLE, repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

HEAD_BYTES, TAIL_BYTES = 1 << 20, 3 << 20
"""Bytes that are read from the beginning and from the end of a long file: the end tells why a run failed."""
TEXT_CHARACTERS = 8 * 1024
"""Maximum length of one text; the middle of a longer one is left out."""
PART_CHARACTERS = 200
"""Characters that a part of a conversation counts beside its texts."""
HEAD_SHARE = 0.25
"""Share of a shortened conversation that is kept from its beginning; the rest is kept from its end."""


class AttemptConversation(msgspec.Struct):
    """The events of one attempt."""

    entries: list[ConversationEntry] = []
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


def read_conversation(path: Path) -> AttemptConversation:
    """The events in a file, also one that is missing, cut off, still written, or none of the batch's."""
    fold = _ConversationFold()
    try:
        fd = open_rundir_file(path, depth=IN_RUNS)
    except OSError:
        return AttemptConversation(is_there=False)
    except FolderError as error:
        return AttemptConversation(
            [ConversationEntry("assistant", [NotePart(str(error), is_bad=True)])], is_there=False
        )
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


class _ConversationFold:
    """Takes the lines of a stream in their order."""

    def __init__(self) -> None:
        self.conversation = AttemptConversation()
        self._calls: dict[str, CallPart] = {}
        """Calls without a result so far."""
        self._said: list[str] = []
        """Pieces of a text whose message has not come."""

    def take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            record = _decode(line)
            if record is None:
                self.conversation.unread += 1
            else:
                self._take(record)

    def leave_out(self, count: int) -> None:
        self.conversation.left_out_bytes = count
        self._add(NotePart(f"{count:,} bytes of the events are left out here"))

    def finish(self) -> AttemptConversation:
        if said := "".join(self._said).strip():
            self._add(Text(cut(said)))
            self._add(NotePart("the message does not end: the stream is cut off here", is_bad=True))
        return self.conversation

    def _add(self, part: Part) -> None:
        """To the turn that has begun."""
        entries = self.conversation.entries
        if not entries or entries[-1].role == "user":
            entries.append(ConversationEntry("assistant", []))
        entries[-1].parts.append(part)

    def _take(self, record: events.AnyRecord) -> None:
        match record:
            case events.TextDelta(delta=delta):
                self._said.append(delta)
            case events.TurnStart(step=step):
                self.conversation.entries.append(ConversationEntry("assistant", [], step))
            case events.UserMessage(content=content):
                self.conversation.entries.append(ConversationEntry("user", [Text(cut(_words(content)))]))
            case events.AssistantMessage(content=content):
                self._said.clear()
                if said := _words(content):
                    self._add(Text(cut(said)))
            case events.ToolCall() | events.ToolResult():
                self._tool(record)
            case events.Done():
                self.conversation.is_done = True
            case _:
                if note := _note(record):
                    self._add(NotePart(cut(note.text), note.is_bad))

    def _tool(self, record: events.ToolCall | events.ToolResult) -> None:
        if isinstance(record, events.ToolCall):
            arguments = cut(bytes(record.args).decode("utf-8", "replace"))
            title = f"{record.name} ({record.extension})" if record.extension else record.name
            if record.origin_extension:
                title += f", called by {record.origin_extension}"
            call = self._calls[record.id] = CallPart(title, arguments.encode())
            self._add(call)
            return
        asked = self._calls.pop(record.id, None)
        result = ResultPart((Text(cut(_words(record.content))),), record.is_error)
        if asked is None:
            self._add(result)
        else:
            asked.result = result


def _note(record: events.AnyRecord) -> NotePart | None:
    """The note for a record that is no part of the conversation itself; None for records of no interest."""
    match record:
        case events.TurnEnd(stop=stop, error=error) if stop in ("error", "aborted", "length"):
            return NotePart(
                f"the turn ended with {stop}" + (f": {error}" if isinstance(error, str) else ""), is_bad=True
            )
        case events.Error(message=message):
            return NotePart(message, is_bad=True)
        case events.Extension(event=event) if event != "started":
            return NotePart(f"{record.extension} {event}: {record.message}", is_bad=event in ("failed", "blocked"))
        case events.Retry():
            return NotePart(f"request sent again after {record.wait_s:g} s: {record.reason}")
        case events.CompactDone():
            shorter = f"{record.messages_before} messages became {record.messages_after}"
            return NotePart(f"the conversation was summed up: {shorter}\n{record.summary}")
    return None


def _decode(line: bytes) -> events.AnyRecord | None:
    try:
        return _decoder.decode(line)
    except UNREADABLE:
        mended = repair(line)
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


def shorten(entries: list[ConversationEntry], most: int) -> list[ConversationEntry]:
    """Entries of at most `most` characters: of a longer conversation its beginning and its end."""
    parts = [(entry, part) for entry in entries for part in entry.parts]
    sizes = [_size(part) for _, part in parts]
    if sum(sizes) <= most:
        return entries
    head = _count_fitting(sizes, int(most * HEAD_SHARE))
    tail = _count_fitting(reversed(sizes[head:]), most - int(most * HEAD_SHARE))
    left_out = len(parts) - head - tail
    if not left_out:
        return entries
    gap = (ConversationEntry("assistant", []), NotePart(f"{left_out:,} steps are left out here"))
    kept = groupby([*parts[:head], gap, *parts[len(parts) - tail :]], key=lambda pair: id(pair[0]))
    groups = [list(group) for _, group in kept]
    return [replace(group[0][0], parts=[part for _, part in group]) for group in groups]


def _size(part: Part) -> int:
    match part:
        case Text(text) | NotePart(text):
            return PART_CHARACTERS + len(text)
        case CallPart(name, args, result):
            return PART_CHARACTERS + len(name) + len(args) + (_size(result) if result is not None else 0)
        case ResultPart(content):
            return PART_CHARACTERS + sum(len(each.text) for each in content if isinstance(each, Text))
    return PART_CHARACTERS


def _count_fitting(sizes: Iterable[int], most: int) -> int:
    """How many of the first sizes are at most `most` together."""
    return sum(total <= most for total in accumulate(sizes))
