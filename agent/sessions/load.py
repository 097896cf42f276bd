"""Reads a session file: the facts of the session, and the conversation for the model's next request."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from agent.sessions.repair import missing_results, repair_messages
from agent.sessions.rows import Compaction, Meta, Other, Rename, Row, Summary, Unreadable
from agent.sessions.token_meter import RequestTokens, TokenMeter
from agent.sessions.torn_line import Lines
from agent.transcript import Message, Text
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TITLE_CHARACTERS = 200
FAULTS_SHOWN = 5


class SessionError(Exception):
    """A session cannot be read or used; the text names the file and says why."""


class LineFault(msgspec.Struct, frozen=True):
    """A line that was left out."""

    line: int
    """Counted from 1."""
    reason: str


class LoadedSession(msgspec.Struct, frozen=True):
    path: Path
    meta: Meta
    messages: tuple[Message, ...]
    """The conversation from the last compaction on, repaired for the model's API."""
    said: tuple[Message, ...]
    """All messages as in the file; empty without `with_said`."""
    message_rows: int
    """The number of messages in the file, those before a compaction included."""
    title: str
    """The user's name for it, else the beginning of the first prompt; "" without a prompt."""
    name: str
    """The name that the user or an extension has given it; "" if it has none."""
    usage: Totals
    """The use of the whole session."""
    repairs: int
    """The number of messages that were changed, added or left out, so that the model's API takes the rest."""
    unwritten: tuple[Message, ...]
    """The last ones of `messages` that are not in the file: results for calls at its end. Until they are written, each
    reader repairs the conversation again."""
    measured: RequestTokens | None
    """The tokens of the first ones of `messages`; None if unknown."""
    faults: tuple[LineFault, ...]
    fault_count: int
    """The number of all faults; `faults` has only the first ones."""
    ends_in_line: bool
    """Whether the last line has its LF: False after a write that was cut off."""


def load(path: Path, *, with_said: bool = False) -> LoadedSession:
    """Reads a file. Unreadable lines are left out and counted. Raises `SessionError` for a file that cannot be read or
    is no session."""
    with session_descriptor(path) as fd:
        return load_from(fd, path, with_said=with_said)


@contextmanager
def session_descriptor(path: Path) -> Iterator[int]:
    """A descriptor of a session file. An `OSError` in the block becomes a `SessionError`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)
    except OSError as error:
        raise read_failure(path, error) from None


def read_failure(path: Path, error: OSError) -> SessionError:
    return SessionError(f"{path}: cannot be read: {error.strerror}")


def load_from(fd: int, path: Path, *, with_said: bool = False, limit: int | None = None) -> LoadedSession:
    """As `load`, from an open descriptor; reads at most `limit` bytes."""
    reader = _Reader(with_said)
    try:
        lines = Lines(fd, limit)
        for line in lines:
            reader.take(line.number, line.row)
    except OSError as error:
        raise read_failure(path, error) from None
    if not reader.has_meta and not reader.rows and not reader.messages:
        raise SessionError(f"{path}: no session: it has neither a `meta` row nor messages")
    messages, repairs = repair_messages(reader.messages)
    measured = reader.meter.last
    if measured is not None and messages[: measured.messages] != reader.messages[: measured.messages]:
        measured = None
    return LoadedSession(
        path=path,
        meta=reader.meta,
        messages=tuple(messages),
        said=tuple(reader.said),
        message_rows=reader.rows,
        title=reader.title or reader.meta.title or reader.first_prompt,
        name=reader.title or reader.meta.title,
        usage=reader.usage,
        repairs=repairs,
        unwritten=missing_results(reader.messages, messages),
        measured=measured,
        faults=tuple(reader.faults),
        fault_count=reader.fault_count,
        ends_in_line=lines.ends_in_line,
    )


class _Reader:
    def __init__(self, with_said: bool) -> None:
        self._with_said = with_said
        self.meta = Meta()
        self.has_meta = False
        self.messages: list[Message] = []
        self.said: list[Message] = []
        self.rows = 0
        self.title = ""
        self.first_prompt = ""
        self.usage = Totals(0, 0, 0, 0, 0.0)
        self.faults: list[LineFault] = []
        self.fault_count = 0
        self.meter = TokenMeter()

    def take(self, number: int, row: Row) -> None:
        match row:
            case Message():
                self._take_message(row)
            case Totals():
                self.usage = row
                self.meter.totals(row)
            case Meta():
                self.meta, self.has_meta = row, True
            case Compaction(messages):
                self.messages = [message for message in messages if message.content]
                self.meter.compaction(self.messages[-1].role if self.messages else "")
            case Rename(title):
                self.title = title
            case Unreadable(reason):
                self.fault_count += 1
                self.meter.lost()
                if len(self.faults) < FAULTS_SHOWN:
                    self.faults.append(LineFault(number, reason))
            case Summary() | Other():
                pass

    def _take_message(self, message: Message) -> None:
        if not message.content:
            return
        self.rows += 1
        self.messages.append(message)
        self.meter.message(message, len(self.messages))
        if self._with_said:
            self.said.append(message)
        if not self.first_prompt and message.role == "user":
            text = next((block.text for block in message.content if isinstance(block, Text)), "")
            self.first_prompt = " ".join(text[:TITLE_CHARACTERS].split())
