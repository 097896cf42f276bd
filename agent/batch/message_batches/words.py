"""A message batch in words, for a person."""

from __future__ import annotations

from datetime import UTC, datetime

STATES = {
    "planned": "not created yet",
    "doubtful": "whether it was created is being found out",
    "ended": "ended, its results are being fetched",
}


def sent_words(tasks: int, of: int, name: str, state: str, expires: float) -> str:
    """`412 of 1,000 through message batch msgbatch_01 (in_progress, ends by 14:02)`. `tasks` wait for their results,
    `of` are all; `name` is empty and `expires` 0 if they are unknown."""
    which = f"message batch {name}" if name else "a message batch"
    by = f", ends by {_time(expires)}" if expires and state in ("in_progress", "canceling") else ""
    return f"{tasks:,} of {of:,} through {which} ({STATES.get(state, state)}{by})"


def _time(seconds: float) -> str:
    """Local time, with the day if that is another one."""
    try:
        then = datetime.fromtimestamp(seconds, UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return "an unknown time"
    is_today = then.date() == datetime.now(UTC).astimezone().date()
    return then.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")
