"""The lines of `zot session` with `--json` about session files, and the export of a session to JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.events import Totals
from wire.rpc.messages import Message

EXPORT_VERSION = 1
"""Increased when a member of `Export` is removed or changes its meaning, but not for new members."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a session without its messages."""

    id: str
    """A UUID; if the file has none, its name without the suffix."""
    title: str
    """The name that the user gave it, else the beginning of the first prompt; empty without a prompt."""
    cwd: str
    """The working folder; empty if the file does not name it."""
    provider: str
    model: str
    """The model of the next request."""
    started: str
    """Time of its start in RFC 3339, as in the file; empty if the file has none."""
    modified: str
    """Time of the last write to the file, RFC 3339 in UTC."""
    usage: Totals
    """The use of the whole session."""
    parent: str
    """The id of the session that it was forked from; empty if it is not a fork."""
    fork_point: int
    """Number of messages that were copied from the parent."""


class Session(Facts, frozen=True, kw_only=True):
    """A line of `zot session list --json`: the fields of `Facts`, and these."""

    path: str
    """Path of the session file."""
    message_count: int
    """Number of messages in the file, those before a compaction included."""
    size_bytes: int
    in_use: bool
    """Whether a run writes to it."""


class Branch(Session, frozen=True, kw_only=True):
    """A line of `zot session tree --json`, a session that is not a fork of another listed session: the fields of
    `Facts` and of `Session`, and these."""

    children: tuple[Branch, ...] = ()
    """Its forks, each with its own forks."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `zot session search --json`: a block of a message in which the text occurs."""

    id: str
    """Id of the session."""
    path: str
    title: str
    message: int
    """Number, counted from 1."""
    role: Literal["user", "assistant", "tool"]
    part: Literal["text", "arguments", "result"]
    tool: str
    """The name of the tool for arguments and results; empty if the file does not name it."""
    snippet: str
    """The first match with some text around it, on one line."""
    matches: int
    """Number of matches in this block."""


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction: from here on the model sees other messages instead of the earlier ones."""

    after: int
    """Number of the session's messages before it."""
    messages: tuple[Message, ...]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the session file that could not be read."""

    line: int
    """Number, counted from 1."""
    reason: str


class Export(Facts, frozen=True, kw_only=True):
    """A whole session, as `zot session show --json` prints it and `zot session export --format json` writes it: the
    fields of `Facts`, and these."""

    export_version: int = EXPORT_VERSION
    version: str
    """Version of the program that began the session; empty if the file does not name it."""
    messages: tuple[Message, ...]
    """All messages of the file, as in `get_messages` with `full`; a call may lack its result."""
    compactions: tuple[Compacted, ...]
    faults: tuple[Fault, ...]
    """The first faults."""
    fault_count: int
    """Number of all unreadable lines."""
    summary: str = ""
    """The summary that an extension wrote at the end of the session; empty without one."""
