"""One request of a run to a hosted extension, from the run's frame to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire import frames

if TYPE_CHECKING:
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.sharing.attachment import Attachment
    from supervisor.sharing.run_frames import Question

    Request = Question | frames.ToolCall | frames.CommandInvoked


class Forwarded:
    """A request that waits in the line of its run, or is under way. It ends once."""

    __slots__ = ("attachment", "frame", "id", "is_asked_again", "limit_s", "pending", "size", "worker")

    def __init__(self, attachment: Attachment, request: str, frame: Request, size: int) -> None:
        self.attachment = attachment
        self.id = request
        """The run's id of the request."""
        self.frame = frame
        self.size = size
        """Of the frame, in bytes."""
        self.pending: Pending | None = None
        """None while it waits."""
        self.worker: Worker | None = None
        self.limit_s = 0.0
        """Seconds that the extension may take once it is under way."""
        self.is_asked_again = False
        """Its extension died with it once, and it is asked once more."""

    @property
    def is_verdict(self) -> bool:
        return isinstance(self.frame, frames.Event)
