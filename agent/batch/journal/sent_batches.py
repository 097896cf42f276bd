"""The message batches (`--batch-api`) without all results: a fold over the lines of a journal. Pure."""

from __future__ import annotations

import msgspec

from wire.batch.journal_lines import BatchCreated, BatchPlanned, PlannedRequest


class SentBatch(msgspec.Struct):
    """One message batch, from its plan until the outcomes of all its requests are recorded."""

    nonce: str
    requests: tuple[PlannedRequest, ...]
    planned: float
    """Seconds since 1970."""
    left: dict[str, int]
    """The tasks without a recorded outcome, each with the number of its request."""
    id: str = ""
    """The provider's; empty if it is unknown whether the provider has the batch."""
    expires: float = 0.0
    """When the provider ends it, in seconds since 1970; 0 if unknown."""


class SentBatches(msgspec.Struct):
    open: dict[str, SentBatch] = {}
    """By nonce."""
    tasks: dict[str, str] = {}
    """The tasks that wait for the result of a message batch, each with its nonce."""

    def take(self, line: BatchPlanned | BatchCreated) -> None:
        if isinstance(line, BatchPlanned):
            left = {request.task: number for number, request in enumerate(line.requests)}
            self.open[line.nonce] = SentBatch(line.nonce, line.requests, line.t, left)
            self.tasks |= dict.fromkeys(left, line.nonce)
        elif (sent := self.open.get(line.nonce)) is not None:
            sent.id, sent.expires = line.id, line.expires

    def finished(self, task: str, attempt: int) -> None:
        """An outcome is recorded. Does nothing for an attempt that no message batch has."""
        sent = self.open.get(self.tasks.get(task, ""))
        if sent is None or sent.requests[sent.left[task]].attempt != attempt:
            return
        del sent.left[task], self.tasks[task]
        if not sent.left:
            del self.open[sent.nonce]
