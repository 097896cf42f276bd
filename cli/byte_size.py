"""Sizes as a user writes them on the command line: `512MB`, `1.5GiB`, `800M`, `1048576`."""

from __future__ import annotations

import re

ACCEPTED = "bytes (1048576) or a number with KB, MB, GB (1000s) or KiB, MiB, GiB, K, M, G (1024s)"
_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS |= {_letter: 1024**_power, f"{_letter}IB": 1024**_power, f"{_letter}B": 1000**_power}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}) ?([A-Za-z]{0,3})")


def bytes_from(text: str) -> int:
    """The bytes that `text` means, at least one. Units may be in lower case. Raises ValueError, whose text says what is
    accepted."""
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[2].upper()) if found else None
    size = int(float(found[1]) * unit) if found and unit else 0
    if not size:
        raise ValueError(f"{text!r} is not a size above zero: write {ACCEPTED}")
    return size
