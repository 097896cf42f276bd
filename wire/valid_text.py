"""Text that came as bytes from the system: arguments, paths, environment variables."""

from __future__ import annotations


def valid_text(value: str) -> str:
    """The same, with U+FFFD for bytes that are not UTF-8: Python keeps those as lone surrogates, which JSON has not."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
