"""What is told of session files: by `zot session` with `--json`, and by its export to JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.events import Totals
from wire.rpc.messages import Message

EXPORT_VERSION = 1
"""Increased when a member of `Export` is removed or changes its meaning, but not for new ones."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a session without its messages."""

    id: str
    """A UUID; the file's name without its suffix where the file has none."""
    title: str
    """As the user has named it, else how the first prompt begins; empty without a prompt."""
    cwd: str
    """The working folder; empty where the file does not say."""
    provider: str
    model: str
    """That is asked next."""
    started: str
    """RFC 3339, as the file says; empty where it does not."""
    modified: str
    """When the file was last written to: RFC 3339, UTC."""
    usage: Totals
    """Of the whole session."""
    parent: str
    """The id of the session that this one is a fork of; empty if it is none."""
    fork_point: int
    """How many messages of the parent were copied."""


class Session(Facts, frozen=True, kw_only=True):
    """A line of `zot session list --json`: the fields of `Facts`, and these."""

    path: str
    """Of the session file."""
    message_count: int
    """Messages in the file, those before a compaction included."""
    size_bytes: int
    in_use: bool
    """Whether a run writes to it."""


class Branch(Session, frozen=True, kw_only=True):
    """A line of `zot session tree --json`, a session that is no fork of another one that is shown: the fields of
    `Facts` and of `Session`, and these."""

    children: tuple[Branch, ...] = ()
    """Its forks, and theirs."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `zot session search --json`: a block of a message in which the text occurs."""

    id: str
    """Of the session."""
    path: str
    title: str
    message: int
    """Counted from 1."""
    role: Literal["user", "assistant", "tool"]
    part: Literal["text", "arguments", "result"]
    tool: str
    """Of arguments and results: the name of the tool; empty where the file does not say."""
    snippet: str
    """The first match with some text around it, on one line."""
    matches: int
    """How often it occurs in this block."""


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction: from here on the model sees other messages in place of those before."""

    after: int
    """How many of the session's messages stand before it."""
    messages: tuple[Message, ...]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the session file that could not be read."""

    line: int
    """Counted from 1."""
    reason: str


class Export(Facts, frozen=True, kw_only=True):
    """A whole session, as `zot session show --json` prints it and `zot session export --format json` writes it: the
    fields of `Facts`, and these."""

    export_version: int = EXPORT_VERSION
    version: str
    """Of the program that began the session; empty where the file does not say."""
    messages: tuple[Message, ...]
    """All, complete, as in `get_messages` with `full`, as they stand in the file: a call may lack its result."""
    compactions: tuple[Compacted, ...]
    faults: tuple[Fault, ...]
    """The first ones."""
    fault_count: int
    """Lines that could not be read, all of them."""
    summary: str = ""
    """What an extension has made of the session at its end; empty if none has."""
