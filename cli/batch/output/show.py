"""How much a person wants to see of a running batch."""

from __future__ import annotations

from enum import Enum


class Show(Enum):
    AUTO = "auto"
    """The live view on a terminal, else a line for each finished task."""
    LINES = "lines"
    NOTHING = "nothing"
    """Only what went wrong with the batch itself."""
