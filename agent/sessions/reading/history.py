"""Reads a whole session: every message, and the places of compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.sessions.load import FAULTS_SHOWN, LineFault, session_descriptor
from agent.sessions.rows import Compaction, Meta, Row, Summary, Unreadable
from agent.sessions.store import SessionInfo, describe
from agent.sessions.torn_line import Lines
from agent.transcript import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class SessionSummary(msgspec.Struct, frozen=True):
    """A compaction: its summary replaces the messages before it."""

    after: int
    """The number of messages in the file before it."""
    messages: tuple[Message, ...]


class History(msgspec.Struct, frozen=True):
    info: SessionInfo
    version: str
    """The version of the program that began the session; "" if unknown."""
    messages: tuple[Message, ...]
    """As in the file, not repaired."""
    compactions: tuple[SessionSummary, ...]
    faults: tuple[LineFault, ...]
    """The first lines that were left out."""
    fault_count: int
    summary: str = ""
    """The summary that a guard has written at the session's end; the last one counts."""

    def steps(self) -> Iterator[tuple[int, Message] | SessionSummary]:
        """The messages with their numbers, from 1, and the compactions, in order."""
        waiting = list(self.compactions)
        for number, message in enumerate(self.messages, 1):
            while waiting and waiting[0].after < number:
                yield waiting.pop(0)
            yield number, message
        yield from waiting


def read_history(path: Path) -> History:
    """The whole session. Raises `SessionError` for a file that cannot be read or is no session."""
    info = describe(path)
    version, summary = "", ""
    messages: list[Message] = []
    compactions: list[SessionSummary] = []
    faults: list[LineFault] = []
    fault_count = 0
    for number, row in rows_of(path):
        match row:
            case Message(content=content) if content:
                messages.append(row)
            case Compaction(kept):
                compactions.append(SessionSummary(len(messages), tuple(message for message in kept if message.content)))
            case Summary(text):
                summary = text
            case Meta():
                version = row.version or version
            case Unreadable(reason):
                fault_count += 1
                if len(faults) < FAULTS_SHOWN:
                    faults.append(LineFault(number, reason))
    return History(info, version, tuple(messages), tuple(compactions), tuple(faults), fault_count, summary)


def rows_of(path: Path) -> Iterator[tuple[int, Row]]:
    """The number of each line, from 1, and its row, without blank lines. Raises `SessionError`."""
    with session_descriptor(path) as fd:
        for line in Lines(fd):
            yield line.number, line.row
