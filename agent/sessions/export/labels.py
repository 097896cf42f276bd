"""Texts that all documents for people share. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.sessions.reading.history import History, SessionSummary
    from agent.sessions.store import SessionInfo
    from agent.transcript import Image
    from wire.events import Totals

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Invisible characters that control the display, or change the direction of text."""
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_RETURN = re.compile(r"\r\n?")
TITLE_CHARACTERS = 120
ROLES = {"user": "User", "assistant": "Assistant", "tool": "Results"}
_UNITS = ("B", "KiB", "MiB", "GiB")


def visible(text: str) -> str:
    """The text without colours, and with a name such as `<U+202E>` in place of each character that controls a terminal
    or the direction of text. So no text is hidden, and none has an effect."""
    if text.isprintable():
        return text
    return _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", _COLOUR.sub("", _RETURN.sub("\n", text)))


def title_of(history: History) -> str:
    """The title on one line, cut; never empty."""
    title = " ".join(visible(history.info.title).split()) or f"Session {history.info.id[:8]}"
    return title if len(title) <= TITLE_CHARACTERS else title[: TITLE_CHARACTERS - 1] + "…"


def facts_of(info: SessionInfo) -> list[tuple[str, str]]:
    """Label and value of each known fact of a session."""
    rows = [
        ("Session", info.id),
        ("Folder", info.cwd),
        ("Model", " ".join(filter(None, [info.provider, info.model]))),
        ("Started", clock_of(info.started)),
        ("Fork of", f"{info.parent}, after message {info.fork_point}" if info.parent else ""),
    ]
    return [(label, value) for label, value in rows if value]


def clock_of(time: str) -> str:
    """A time of RFC 3339 to the second: `2026-01-02 03:04:05 +00:00`; any other text as it is."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?", time)
    if found is None:
        return " ".join(visible(time).split())
    zone = "+00:00" if found[3] == "Z" else found[3] or ""
    return f"{found[1]} {found[2]} {zone}".rstrip()


def usage_text(usage: Totals) -> str:
    """`1,200 tokens in (1,000 from the cache), 340 out, $0.0123`."""
    cached = f" ({usage.cache_read:,} from the cache)" if usage.cache_read else ""
    read = usage.input + usage.cache_read + usage.cache_write
    return f"{read:,} tokens in{cached}, {usage.output:,} out, {cost_text(usage.cost_usd)}"


def cost_text(cost_usd: float | None) -> str:
    """Dollars, with more digits for small amounts."""
    if cost_usd is None:
        return "cost unknown"
    if cost_usd == 0 or cost_usd >= 1:
        return f"${cost_usd:,.2f}"
    return f"${cost_usd:.4f}" if cost_usd >= 0.0001 else f"${cost_usd:.9f}".rstrip("0")


def size_text(count: float) -> str:
    """Bytes: `812 B`, `12.3 KiB`."""
    unit = _UNITS[0]
    for unit in _UNITS:
        if count < 1024 or unit == _UNITS[-1]:
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"


def image_bytes(image: Image) -> int:
    """The size of the decoded image."""
    return len(image.data) // 4 * 3 - image.data.count("=", -2)


def image_text(image: Image) -> str:
    return f"image, {visible(image.mime_type)[:80]}, {size_text(image_bytes(image))}"


def compaction_text(compacted: SessionSummary) -> str:
    count = len(compacted.messages)
    return (
        f"Compacted: from here on the model sees {count} message{'' if count == 1 else 's'} in place of the "
        f"{compacted.after} before"
    )


def fault_text(history: History) -> str:
    """The parts missing from the document, in words; "" if none is."""
    if not history.fault_count:
        return ""
    first = ", ".join(str(fault.line) for fault in history.faults)
    more = " and more" if history.fault_count > len(history.faults) else ""
    count = history.fault_count
    are_left_out = f"of the session file cannot be read and {'is' if count == 1 else 'are'} skipped"
    return f"{count} line{'' if count == 1 else 's'} {are_left_out}: {first}{more}"
