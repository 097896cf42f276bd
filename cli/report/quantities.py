"""Numbers with units for the page: three significant digits."""

from __future__ import annotations

from datetime import UTC, datetime

KIB = 1024.0


def short(value: float) -> str:
    """Three significant digits without trailing zeros: 0.0123, 1.23, 12.3, 1,234."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e15:
        return f"{value:.3g}"
    if size >= 100:
        return f"{value:,.0f}"
    digits = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return text if text not in ("0", "-0") else f"{value:.1g}"


def count_text(value: int) -> str:
    """A count: whole up to 99,999, above that with k, M, G or T."""
    if abs(value) < 100_000:
        return f"{value:,}"
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)):
        if abs(value) < 1000 * size or unit == "T":
            return f"{short(value / size)} {unit}"
    raise AssertionError


def bytes_text(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < KIB:
            return f"{short(value)} {unit}"
        value /= KIB
    return f"{short(value)} TiB"


def percent_text(value: float) -> str:
    return f"{short(value)} %"


def duration_text(milliseconds: float | None) -> str:
    """A latency in µs, ms or s; a dash for None."""
    if milliseconds is None:
        return "-"
    if milliseconds < 1:
        return f"{short(milliseconds * 1000)} µs"
    if milliseconds < 1000:
        return f"{short(milliseconds)} ms"
    return f"{short(milliseconds / 1000)} s"


def elapsed(seconds: float) -> str:
    """A length of time in a run: 250 ms, 12.5 s, 2:05, 1:02:05, 3 d 4:00:00."""
    if seconds < 0:
        return "-" + elapsed(-seconds)
    if seconds == 0:
        return "0 s"
    if seconds < 1:
        return f"{short(seconds * 1000)} ms"
    if seconds < 59.995:
        return f"{short(seconds)} s"
    if seconds >= 1e12:
        return f"{short(seconds)} s"
    whole = round(seconds)
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    if not (days or hours):
        return f"{minutes}:{rest:02}"
    clock = f"{hours}:{minutes:02}:{rest:02}"
    return f"{days} d {clock}" if days else clock


def clock_text(epoch: float | None) -> str:
    """Local date and time with the offset; empty for None or a time outside of the calendar."""
    if epoch is None:
        return ""
    try:
        return datetime.fromtimestamp(epoch, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    except (ValueError, OverflowError, OSError):
        return ""


def plural(count: int, noun: str, several: str = "") -> str:
    """`1 call`, `2 calls`."""
    return f"{count_text(count)} {noun if count == 1 else several or noun + 's'}"
