"""Places and labels of the ticks of an axis."""

from __future__ import annotations

from math import ceil, floor, log10

from cli.number_format import bytes_text, duration_text, elapsed

MIB = 2.0**20
SHORTEST = 0.01
"""The length of the shortest axis, in its unit (percent or MiB): less is noise, and zeros need an axis, too."""
_TIME_STEPS = (
    *(factor * size for size in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1) for factor in (1, 2, 5)),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200),
    *(86400, 172800, 604800, 1209600, 2592000),
)


def upto(highest: float, ticks: int) -> tuple[float, float]:
    """Step and end of an axis from 0 that holds `highest`, at least `SHORTEST` long. Steps are 1, 2, 2.5 or 5 times a
    power of ten."""
    highest = max(highest, SHORTEST)
    rough = highest / max(1, ticks)
    size = 10.0 ** floor(log10(rough))
    step = next(factor * size for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * size >= rough * (1 - 1e-9))
    return step, step * max(1, ceil(highest / step - 1e-9))


def bytes_upto(highest_mib: float, ticks: int) -> tuple[float, float]:
    """Step and end, in MiB, of an axis from 0 that holds `highest_mib`. Steps are round in the unit of the labels, such
    as KiB or GiB."""
    highest_mib = max(highest_mib, SHORTEST)
    unit = 1.0
    while highest_mib >= 1024 * unit:
        unit *= 1024
    while highest_mib < unit:
        unit /= 1024
    step, end = upto(highest_mib / unit, ticks)
    return step * unit, end * unit


def steps(step: float, end: float) -> list[float]:
    """The multiples of `step` from 0 to `end`."""
    return [index * step for index in range(round(end / step) + 1)]


def time_ticks(end: float, most: int = 10) -> list[tuple[float, str]]:
    """Positions and labels from 0 to `end` seconds."""
    step = next((size for size in _TIME_STEPS if end / size <= most), None)
    if step is None:
        step = end / most
    return [(index * step, elapsed(index * step)) for index in range(floor(end / step + 1e-9) + 1)]


def thinned_ticks(ticks: tuple[tuple[float, str], ...], most: int = 10) -> list[tuple[float, str]]:
    """At most `most` of the ticks, at even distances in the list."""
    every = max(1, ceil(len(ticks) / most))
    return list(ticks[::every])


def decades(lowest: float, highest: float) -> tuple[int, int]:
    """The powers of ten around both values, at least two decades apart."""
    first, last = floor(log10(lowest)), ceil(log10(highest))
    return (first, last) if last - first >= 2 else (first, first + 2)


def decade_label(power: int) -> str:
    """The label of a power of ten in milliseconds."""
    return duration_text(10.0**power)


def mib_text(value: float) -> str:
    return bytes_text(value * MIB)
