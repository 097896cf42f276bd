"""Errors of the commands about installed extensions."""

from __future__ import annotations


class InstallError(Exception):
    """The command failed or was refused, and changed nothing. The text says what happened and what to do."""


class MisuseError(InstallError):
    """The command line is wrong: an unknown or ambiguous name, or a missing flag."""


class ConflictError(InstallError):
    """The name or the folder is taken."""


class NeedsConsentError(InstallError):
    """The new version asks for more than the user has agreed to. `asks` has a line for each new request."""

    def __init__(self, text: str, asks: tuple[str, ...]) -> None:
        super().__init__(text)
        self.asks = asks
