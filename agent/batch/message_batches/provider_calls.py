"""Asks the provider about message batches through a child process, one call after another."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from agent.batch.message_batches.lifecycle import Failure, Info
from agent.model.worker_process import ModelWorker, configure_line, program_starter
from supervisor.process.child import SpawnError
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.model.access import Access
    from supervisor.loop.loop import Loop
    from supervisor.process.teardown import Stoppable

WORKER = Path(__file__).with_name("worker") / "worker_main.py"
MESSAGE_LENGTH = 1_000


class BatchLine(msgspec.Struct, frozen=True, tag_field="type", tag="batch"):
    """One message batch, as the provider describes it."""

    id: str
    batch: Info
    first_id: str | None = None


class ResultLine(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """One result."""

    id: str
    custom_id: str
    line: dict[str, Any] | None
    """The `final` or `error` line of a model worker."""
    reason: str


class BatchesLine(msgspec.Struct, frozen=True, tag_field="type", tag="batches"):
    """The answer to a list."""

    id: str
    batches: tuple[Info, ...]


class DoneLine(msgspec.Struct, frozen=True, tag_field="type", tag="done"):
    id: str


class ErrorLine(msgspec.Struct, frozen=True, tag_field="type", tag="error"):
    id: str
    kind: str
    message: str
    status: int | None = None
    retry_after_s: float | None = None
    unanswered: bool = False


class ReadyLine(msgspec.Struct, frozen=True, tag_field="type", tag="ready"):
    whole_sdk: str = ""


AnyLine = BatchLine | BatchesLine | ResultLine | DoneLine | ErrorLine
Answer = BatchLine | BatchesLine | ResultLine | DoneLine | Failure


def problem_of(line: Any) -> str | None:
    """The fault of a line of the child, in words; None without one."""
    try:
        msgspec.convert(line, AnyLine | ReadyLine)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        return str(error)
    return None


class ProviderCalls:
    """`ask` makes a call; then `on_answer` gets its results, if it has some, and one answer of another kind, which ends
    it. A child that dies is a `Failure` of the call, and the next one starts another."""

    def __init__(self, loop: Loop, access: Access) -> None:
        self._loop = loop
        self._access = access
        self._worker: ModelWorker | None = None
        self._workers: list[ModelWorker] = []
        """With those that are about to end."""
        self._on_answer: Callable[[Answer], None] | None = None
        self._number = 0

    @property
    def is_busy(self) -> bool:
        return self._on_answer is not None

    def ask(self, on_answer: Callable[[Answer], None], do: str, **params: Any) -> None:
        """Makes a call once the one before is over. See `worker.worker_main` for `do` and `params`."""
        assert not self.is_busy
        self._on_answer = on_answer
        self._number += 1
        if self._worker is None and (refused := self._start()):
            self._loop.call_later(0.0, lambda: self._end(Failure("connection", refused)))  # nothing was sent
            return
        assert self._worker is not None
        line = {"type": "request", "id": str(self._number), "params": {"do": do, **params}}
        self._worker.send(orjson.dumps(line) + b"\n")

    def _start(self) -> str:
        """Returns why there is no child; empty if there is one."""
        number = len(self._workers)
        on_end = partial(self._on_fault, number)
        try:
            self._worker = ModelWorker(
                self._loop, program_starter(self._loop, WORKER), configure_line(self._access),
                on_line=self._on_line, on_fault=on_end, on_end=on_end, problem_of=problem_of,
            )  # fmt: skip
        except SpawnError as error:
            return str(error)
        self._workers.append(self._worker)
        return ""

    def hold(self, *, held: bool) -> None:
        """With `held` no line is read: whoever is told is behind."""
        if self._worker is not None:
            (self._worker.hold if held else self._worker.read_on)()

    def stop(self) -> None:
        """Gives up the call, and kills the child."""
        self._on_answer = None
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def stoppables(self) -> list[Stoppable]:
        return [worker for worker in self._workers if worker.is_running]

    def _on_line(self, line: dict[str, Any], _raw: bytes | bytearray) -> None:
        if line.get("id") != str(self._number) or self._on_answer is None:
            return
        answer: AnyLine = msgspec.convert(line, AnyLine)
        if isinstance(answer, ResultLine):
            self._on_answer(answer)
        elif isinstance(answer, ErrorLine):
            message = one_line(answer.message, MESSAGE_LENGTH)
            self._end(Failure(answer.kind, message, answer.status, answer.retry_after_s, answer.unanswered))
        else:
            self._end(answer)

    def _on_fault(self, number: int, message: str) -> None:
        """A child has died, or has said something that cannot be read."""
        worker = self._workers[number]
        if worker is not self._worker:
            return
        self._worker = None
        if worker.is_running:
            worker.kill()
        self._end(Failure("worker", one_line(message, MESSAGE_LENGTH)))

    def _end(self, answer: Answer) -> None:
        on_answer, self._on_answer = self._on_answer, None
        if on_answer is not None:
            on_answer(answer)
