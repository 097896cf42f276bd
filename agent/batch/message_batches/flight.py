"""One message batch of this start: its state, its requests, and the attempts that wait for their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.request import MessageBatchView
from wire.batch.outcome import Lost

if TYPE_CHECKING:
    from agent.batch.attempts import Active
    from agent.batch.message_batches.lifecycle import MessageBatch
    from agent.batch.message_batches.request_file import RequestFile


class Flight:
    """Grows by `add` until its plan is written; then `batch` has its state."""

    def __init__(self, nonce: str, file: RequestFile | None) -> None:
        """`file` None: it is gone."""
        self.nonce = nonce
        self.file = file
        self.batch: MessageBatch | None = None
        self.left: dict[int, Active] = {}
        """The attempts without a result, by the numbers of their requests."""
        self.lost = Lost()
        """Sums over the maximum costs of `left`."""
        self._input = self._output = 0.0

    def add(self, number: int, active: Active) -> None:
        self.left[number] = active
        self._count(self.reserved(number), 1)

    def take(self, number: int | None) -> Active | None:
        """Removes and returns the attempt that waits for this result; None if none does."""
        active = None if number is None else self.left.pop(number, None)
        if number is not None and active is not None:
            self._count(self.reserved(number), -1)
        return active

    def reserved(self, number: int) -> Lost:
        return Lost() if self.file is None else self.file.reserved(number)

    def _count(self, one: Lost, sign: int) -> None:
        self._input += sign * one.input_usd
        self._output += sign * one.output_usd
        self.lost = Lost(
            self.lost.requests + sign,
            max(0.0, round(self._input, 6)),
            max(0.0, round(self._output, 6)),
            self.lost.max_tokens + sign * one.max_tokens,
        )

    def view(self, batch: MessageBatch) -> MessageBatchView:
        return MessageBatchView(batch.id, batch.phase.value, len(self.left), batch.expires, batch.trouble)

    def close(self, *, remove: bool = False) -> None:
        if self.file is not None:
            self.file.close(remove=remove)
