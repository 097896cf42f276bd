"""The levels of MCP's log messages for what extensions and the host say. Pure."""

from __future__ import annotations

_NOTICES = {"started": "debug", "remark": "debug", "restarted": "info", "reloaded": "info", "failed": "error"}
_NOTES = {"debug": "debug", "warn": "warning", "warning": "warning", "error": "error"}


def of_notice(kind: str) -> str:
    """The level of a notice about an extension."""
    return _NOTICES.get(kind, "warning")


def of_note(level: str) -> str:
    """The level of a note that an extension sends."""
    return _NOTES.get(level, "info")
