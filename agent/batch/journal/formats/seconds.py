"""Milliseconds as seconds."""

from __future__ import annotations

LONGEST_MS = 2**53
"""Whole numbers up to this one are exact as floats; a larger one in a journal is no time."""


def seconds(milliseconds: int) -> float:
    """Never negative, and never too large for a float."""
    return max(0, min(milliseconds, LONGEST_MS)) / 1000
