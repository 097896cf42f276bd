"""How a session is put on a line of a terminal: when it was used, what it cost, what it is about."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from cli.number_format import dollars, number

if TYPE_CHECKING:
    from agent.sessions.store import SessionInfo
    from wire.events import Totals

ID_CHARACTERS = 8
_DAY_S = 86_400.0


def when(modified: str, now: float) -> str:
    """A time of RFC 3339 in plain words, seen from `now` in seconds since the epoch: `just now`, `5 min ago`,
    `3 h ago`, `2 d ago`, else the local date."""
    try:
        then = datetime.fromisoformat(modified)
        age = now - then.timestamp()
        if not 0 <= age < 7 * _DAY_S:
            return "just now" if -60 < age < 0 else f"{then.astimezone():%Y-%m-%d}"
    except (ValueError, OverflowError, OSError):
        return "?"
    if age < 60:
        return "just now"
    if age < 3600:
        return f"{age // 60:.0f} min ago"
    return f"{age // 3600:.0f} h ago" if age < _DAY_S else f"{age // _DAY_S:.0f} d ago"


def tokens(usage: Totals) -> str:
    """All tokens, those from the cache included, in five characters."""
    return number(usage.input + usage.output + usage.cache_read + usage.cache_write)


def cost(usage: Totals) -> str:
    return "unknown" if usage.cost_usd is None else dollars(usage.cost_usd)


def shown(text: str, limit: int = 1000) -> str:
    """Untrusted text on one line for a terminal; `-` for an empty one."""
    from wire.text import one_line, valid_text

    return one_line(valid_text(text), limit) or "-"


def short_id(info: SessionInfo) -> str:
    return shown(info.id[:ID_CHARACTERS])


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None where it is none, or $COLUMNS does not say so."""
    import os

    from cli.terminal import page_width, table_width

    return page_width(None) if os.environ.get("COLUMNS", "").isdecimal() else table_width()


def about(info: SessionInfo, now: float) -> str:
    """`3f2a90b1  5 min ago  12 messages  fix the tests`."""
    from wire.text import counted

    count = counted(info.messages, "message")
    return f"{short_id(info)}  {when(info.modified, now)}  {count}  {shown(info.title)}"
