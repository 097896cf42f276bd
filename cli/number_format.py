"""Numbers with units for people. One rule for all: three significant digits, and the unit that needs fewest.

In sentences and on pages a space and the whole unit follow (`41.6 MiB`, `1.25 s`). In the columns of a terminal figures
have at most one decimal and a short unit (`41.6M`, `1.2s`), so that they fit into six characters.
"""

from __future__ import annotations

from datetime import UTC, datetime

from wire.text import noun_for

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.-=+*#@"
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_COUNTS = ("", "k", "M", "G", "T", "P", "E")
_WHOLE_UNTIL = 100_000
"""Counts below are written with all digits."""

_LEAST_DOLLARS = 0.00001
"""Amounts below are shown as `under $0.00001`: they do not matter, but are not 0."""

# --- in sentences and on pages --------------------------------------------------------------------------------


def short(value: float) -> str:
    """Three significant digits without trailing zeros: 0.0123, 1.23, 12.3, 1,234."""
    if value == 0:
        return "0"
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    text = f"{value:,.{_decimals(value)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if text not in ("0", "-0") else f"{value:.1g}"


def count_text(value: int) -> str:
    """A count: `99,999`, above that `123 k`, `12.3 M`."""
    if abs(value) < _WHOLE_UNTIL:
        return f"{value:,}"
    scaled, unit = _scale(value, _COUNTS, 1000)
    return f"{short(scaled)} {unit}"


def bytes_text(value: float) -> str:
    scaled, unit = _scale(value, _BYTES, 1024)
    return f"{short(scaled)} {unit}"


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
    """A length of time: `250 ms`, `12.5 s`, `2m05s`, `1h`, `1h00m05s`, `3d04h`."""
    if seconds < 0:
        return "-" + elapsed(-seconds)
    if seconds == 0:
        return "0 s"
    if seconds < 1:
        return f"{short(seconds * 1000)} ms"
    if seconds < 59.995 or seconds >= 1e12:
        return f"{short(seconds)} s"
    units = _units(round(seconds))
    while units[-1][0] == 0:
        units.pop()
    return _join_unit(units)


def dollars(value: float | None) -> str:
    """`$0.0123`, `$1.23`, `$0.00003`, `under $0.00001`; `cost unknown` for None."""
    if value is None:
        return "cost unknown"
    if 0 < value < _LEAST_DOLLARS:
        return f"under ${_LEAST_DOLLARS:.5f}"
    text = short(value)
    return f"${value:.5f}" if "e-" in text else f"${text}"


def plural(count: int, noun: str, several: str = "") -> str:
    """`1 call`, `2 calls`."""
    return f"{count_text(count)} {noun_for(count, noun, several)}"


def definitions_text(tools: int, tokens: int) -> str:
    """The cost of the definitions of `tools` tools: `2 tools, about 340 tokens of each request to the model`."""
    return f"{plural(tools, 'tool')}, about {count_text(tokens)} tokens of each request to the model"


def clock_text(epoch: float | None) -> str:
    """Local date and time with the offset; empty for None or a time outside of the calendar."""
    if epoch is None:
        return ""
    try:
        return datetime.fromtimestamp(epoch, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    except (ValueError, OverflowError, OSError):
        return ""


# --- in columns of a terminal -----------------------------------------------------------------------------------


def size(count: float) -> str:
    """Bytes in five characters: `812B`, `9.9M`, `120M`, `1023K`."""
    scaled, unit = _scale(count, _BYTES, 1024)
    return f"{scaled:.0f}B" if unit == "B" else f"{_narrow(scaled)}{unit[0]}"


def number(count: float) -> str:
    """A count in five characters: `99999`, `123k`, `1.2M`."""
    if count < _WHOLE_UNTIL:
        return f"{count:.0f}"
    scaled, unit = _scale(count, _COUNTS, 1000)
    return f"{_narrow(scaled)}{unit}"


def rate(per_second: float) -> str:
    """A rate in five characters: `0`, `12.3`, `250`, `123k`."""
    return "0" if per_second < 0.05 else _narrow(per_second) if per_second < 100 else number(per_second)


def percent(value: float) -> str:
    """A percentage without its sign: `0.3`, `12.5`, `120`."""
    return _narrow(value)


def milliseconds(value: float | None) -> str:
    """The text for `value` milliseconds: `0.03`, `1.2`, `250`, `1.5s`, `75.2s`, `120s`; a dash for None."""
    if value is None:
        return "-"
    if value < 0.995:
        return f"{value:.2f}"
    return _narrow(value) if value < 999.5 else f"{_narrow(value / 1000)}s"


def duration(seconds: float | None) -> str:
    """A time in its two largest units: `12s`, `3m05s`, `2h07m`, `9d03h`; a dash for None."""
    if seconds is None:
        return "-"
    units = _units(max(0, int(seconds)))
    return _join_unit(units[:2] if units[0][0] < 100 else units[:1])


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


# --- the rule ---------------------------------------------------------------------------------------------------


def _decimals(value: float) -> int:
    """Decimals that make three significant digits, four at most."""
    size = abs(value)
    return 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3 if size >= 0.1 else 4


def _narrow(value: float) -> str:
    return f"{value:.{min(1, _decimals(value))}f}"


def _scale(value: float, units: tuple[str, ...], base: int) -> tuple[float, str]:
    """The value in the first unit in which it is below `base` when it is written down."""
    scaled = float(value)
    for unit in units[:-1]:
        if abs(scaled) < base - 0.5:
            return scaled, unit
        scaled /= base
    return scaled, units[-1]


def _units(seconds: int) -> list[tuple[int, str]]:
    """Days, hours, minutes and seconds, from the largest that there is."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    while len(units) > 1 and units[0][0] == 0:
        units.pop(0)
    return units


def _join_unit(units: list[tuple[int, str]]) -> str:
    (first, unit), *rest = units
    return f"{first}{unit}" + "".join(f"{value:02}{unit}" for value, unit in rest)
