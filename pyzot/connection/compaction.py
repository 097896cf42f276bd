"""What the events of a compaction say."""

from __future__ import annotations

from ..errors import RefusedError
from ..events import CompactDone, Error, TurnEnd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..events import AnyEvent


class Summary:
    """Adds up the events of one compaction."""

    def __init__(self) -> None:
        self._summary: str | None = None
        self._reason = "the compaction has ended without a summary"

    def add(self, event: AnyEvent) -> None:
        match event:
            case Error(message):
                self._reason = message
            case TurnEnd(stop="aborted"):
                self._reason = event.error or "aborted"
            case CompactDone(summary):
                self._summary = summary
            case _:
                return

    def text(self) -> str:
        """The summary. Raises `RefusedError` with the reason if there is none."""
        if self._summary is None:
            raise RefusedError(self._reason)
        return self._summary
