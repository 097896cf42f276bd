"""Sessions of a dialect, without a process."""

from __future__ import annotations

from wire.dialects.base import DialectSession, Setup
from wire.dialects.long_lines import LONGEST
from wire.dialects.table import find_dialect


def session_of(dialect: str = "zot", *, frame_limit: int = LONGEST, **options: object) -> DialectSession:
    """A session as a host of version 1.2 opens it for an extension `desk`."""
    return find_dialect(dialect).session(Setup("desk", "1.2", frame_limit, options))
