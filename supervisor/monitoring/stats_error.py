"""The error of the files that figures are written to."""

from __future__ import annotations


class StatsFileError(OSError):
    """A file that cannot be created; the text names it and says why."""
