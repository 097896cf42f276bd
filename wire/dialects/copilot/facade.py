"""The notifications of our facade of the SDK to the host. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.dialects.base import Warned
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.dialects.base import Message

STARTED = "zot.started"
"""The extension's module has run. Without our facade this is unknown: the extension is ready when it joins."""
WORKING = "zot.working"
"""The number of event handlers, and of short timers of handlers, that have not ended: `handlers`."""
UNSENT = "zot.unsent"
"""A prompt came after the host had closed the stdin of the process."""


class _Working(msgspec.Struct):
    handlers: int = 0


_working = msgspec.json.Decoder(_Working).decode


class Facade:
    """The state of one process, as its facade reports it."""

    __slots__ = ("is_working",)

    def __init__(self) -> None:
        self.is_working = False

    def take(self, method: str, params: Raw | UnsetType) -> Sequence[Message]:
        """Takes `WORKING` or `UNSENT`. Never raises."""
        if method == UNSENT:
            return (Warned(UNSENT, "a prompt that it sends came after the end, and is lost"),)
        try:
            self.is_working = _working(b"null" if params is UNSET else params).handlers > 0
        except UNREADABLE:
            self.is_working = False
        return ()
