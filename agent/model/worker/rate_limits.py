"""Reads the provider's rate limits from the headers of an answer. Pure.

The model worker imports this file and must start fast, so it imports neighbours and the standard library only.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any

from agent.model.failure import retry_after_s, should_retry

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "anthropic-ratelimit-"
NAMES = {
    "requests": "requests",
    "tokens": "tokens",
    "input_tokens": "input-tokens",
    "output_tokens": "output-tokens",
}
"""The fields of `limits`, and their names in the headers."""
LONGEST_RESET_S = 7 * 24 * 3600.0
_COUNT = re.compile(r"[0-9]{1,12}")


def limits(headers: Mapping[str, str]) -> dict[str, Any]:
    """The field `limits` of a line, as `agent.cassette.reply_lines.Limits` describes it. A missing or invalid
    value is left out."""
    now = _now(headers)
    found: dict[str, Any] = {}
    for field, name in NAMES.items():
        limit, remaining = (headers.get(f"{PREFIX}{name}-{part}", "").strip() for part in ("limit", "remaining"))
        if _COUNT.fullmatch(limit) and _COUNT.fullmatch(remaining) and int(limit):
            reset = _seconds_until(headers.get(f"{PREFIX}{name}-reset", ""), now)
            found[field] = {"limit": int(limit), "remaining": int(remaining), "reset_s": reset}
    if (pause := retry_after_s(headers)) is not None:
        found["retry_after_s"] = pause
    if (retry := should_retry(headers)) is not None:
        found["should_retry"] = retry
    return found


def _now(headers: Mapping[str, str]) -> float:
    """The server's time of day: this machine's may be wrong."""
    try:
        return parsedate_to_datetime(headers["date"]).timestamp()
    except (LookupError, ValueError, TypeError, OverflowError):
        return time()


def _seconds_until(moment: str, now: float) -> float | None:
    """Seconds until a moment in RFC 3339; 0 if it has passed, None if it is invalid or too far away."""
    try:
        parsed = datetime.fromisoformat(moment.strip())
        seconds = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return round(max(0.0, seconds), 3) if seconds <= LONGEST_RESET_S else None
