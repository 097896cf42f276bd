"""Errors of cassettes. Messages name the file and the remedy."""

from __future__ import annotations


class CassetteError(Exception):
    """The file cannot be read or written, is not a cassette, or has no further exchange."""


class CassetteMismatch(CassetteError):  # noqa: N818 - the base says Error
    """The request differs from the one that was recorded at this position."""
