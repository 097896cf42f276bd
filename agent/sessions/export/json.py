"""Sessions as JSON: `wire.rpc.sessions` has the shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agent.sessions.export.client_messages import client_messages
from wire.rpc import sessions
from wire.text import valid_text

if TYPE_CHECKING:
    from agent.sessions.reading.history import History
    from agent.sessions.store import SessionInfo


def export_json(history: History) -> bytes:
    """The session as one JSON object, with a line feed at its end."""
    return msgspec.json.encode(export_record(history)) + b"\n"


def export_record(history: History) -> sessions.Export:
    """The whole session for a program."""
    return sessions.Export(
        **_facts(history.info),
        version=valid_text(history.version),
        summary=valid_text(history.summary),
        messages=client_messages(history.messages, full=True),
        compactions=tuple(
            sessions.Compacted(after=each.after, messages=client_messages(each.messages, full=True))
            for each in history.compactions
        ),
        faults=tuple(sessions.Fault(line=fault.line, reason=valid_text(fault.reason)) for fault in history.faults),
        fault_count=history.fault_count,
    )


def session_record(info: SessionInfo) -> sessions.Session:
    """The facts of a session, for a program."""
    return sessions.Session(**_facts(info), **_file(info))


def branch_record(info: SessionInfo, children: tuple[sessions.Branch, ...]) -> sessions.Branch:
    """A session with its forks."""
    return sessions.Branch(**_facts(info), **_file(info), children=children)


def _facts(info: SessionInfo) -> dict[str, Any]:
    return {
        "id": valid_text(info.id),
        "title": info.title,
        "cwd": info.cwd,
        "provider": info.provider,
        "model": info.model,
        "started": info.started,
        "modified": info.modified,
        "usage": info.usage,
        "parent": info.parent,
        "fork_point": info.fork_point,
    }


def _file(info: SessionInfo) -> dict[str, Any]:
    return {
        "path": valid_text(str(info.path)),
        "message_count": info.messages,
        "size_bytes": info.size_bytes,
        "in_use": info.in_use,
    }
