"""Why a command about installed extensions was not carried out."""

from __future__ import annotations


class InstallError(Exception):
    """It failed, or was refused, and nothing was changed; the text names the thing, what happened and what to do."""


class MisuseError(InstallError):
    """It was not asked for in a way that can be carried out: an unknown or unclear name, a missing flag."""


class ConflictError(InstallError):
    """The place is taken."""


class NeedsConsentError(InstallError):
    """The new version asks for more than the user has agreed to; `asks` says for what, a line each."""

    def __init__(self, text: str, asks: tuple[str, ...]) -> None:
        super().__init__(text)
        self.asks = asks
