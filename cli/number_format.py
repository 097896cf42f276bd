"""Numbers with units for a person, in few columns of a terminal."""

from __future__ import annotations

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.-=+*#@"
_UNITS = ("", "k", "M", "G", "T", "P", "E")


def size(count: float) -> str:
    """Bytes in five characters at most: `812B`, `9.9M`, `120M`, `1.2G`."""
    if count < 1000:
        return f"{count:.0f}B"
    return _scaled(count, 1024)


def number(count: float) -> str:
    """A count in five characters at most: `99999`, `123k`, `1.2M`."""
    if count < 100_000:
        return f"{count:.0f}"
    return _scaled(count, 1000)


def rate(per_second: float) -> str:
    """A rate in five characters at most: `0`, `12.3`, `250`, `123k`."""
    return "0" if per_second < 0.05 else f"{per_second:.1f}" if per_second < 100 else number(per_second)


def percent(value: float) -> str:
    """A percentage without its sign: one decimal below 1000."""
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def milliseconds(value: float | None) -> str:
    """The text for `value` milliseconds: `0.03`, `1.2`, `250`, `1.5s`, `75s`; a dash for None."""
    if value is None:
        return "-"
    if value < 0.995:
        return f"{value:.2f}"
    if value < 9.95:
        return f"{value:.1f}"
    if value < 999.5:
        return f"{value:.0f}"
    return f"{value / 1000:.1f}s" if value < 99_500 else f"{value / 1000:.0f}s"


def duration(seconds: float | None) -> str:
    """A time in its two largest units: `12s`, `3m05s`, `2h07m`, `9d03h`; a dash for None."""
    if seconds is None:
        return "-"
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    days = whole // 86_400
    return f"{days}d{whole % 86_400 // 3600:02}h" if days < 100 else f"{days}d"


def sparkline(values: list[float], width: int, *, floor: float = 0.0, ascii_only: bool = False) -> str:
    """The last `width` values as bars, right-aligned and scaled from the lowest to the highest of them. A range below
    `floor` is scaled as `floor`, so that noise stays flat."""
    shown = values[-width:]
    if not shown:
        return " " * width
    ramp = ASCII_BLOCKS if ascii_only else BLOCKS
    low = min(shown)
    span = max(max(shown) - low, floor) or 1.0
    top = len(ramp) - 1
    return "".join(ramp[round((value - low) / span * top)] for value in shown).rjust(width)


def _scaled(count: float, base: int) -> str:
    value = float(count)
    for unit in _UNITS:
        if value < 999.5 or unit == _UNITS[-1]:
            break
        value /= base
    return f"{value:.1f}{unit}" if value < 99.95 else f"{value:.0f}{unit}"
