"""What can be wrong with a cassette. Messages name the file and say what to do."""

from __future__ import annotations


class CassetteError(Exception):
    """The file cannot be read or written, is not a cassette, or has no further exchange."""


class CassetteMismatch(CassetteError):  # noqa: N818 - the base says Error
    """The run asks for something else than what was recorded at this place."""
