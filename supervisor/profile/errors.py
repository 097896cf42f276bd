"""The error of a profile that cannot be made."""

from __future__ import annotations


class ProfileError(Exception):
    """The extension cannot be profiled; the text says why and what to do, without the extension's name."""
