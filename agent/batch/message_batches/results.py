"""Writes the events of each result to the folder of its run, and makes its outcome."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from agent.batch.journal.folder import RunFiles
from agent.batch.log import utc_text
from agent.batch.message_batches.chunk import custom_id
from agent.batch.message_batches.write_up import MISSING, NoReply, SentRequest, no_reply, write_up
from agent.batch.pool.run_facts import Attempt
from agent.model.worker_process import advise
from agent.request_checks import UsageError
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from agent.batch.attempts import Active
    from agent.batch.journal.folder import RunFolder
    from agent.batch.message_batches.flight import Flight
    from agent.batch.message_batches.lifecycle import Failure
    from agent.batch.message_batches.provider_calls import ResultLine
    from agent.batch.message_batches.requests import Requests
    from agent.batch.request import BatchRequest
    from wire.batch.outcome import Outcome

Result = dict[str, Any] | NoReply
"""The `final` or `error` line of a model worker, or why there is none."""
GONE = "the results of {} are out of reach: the provider deletes them after 29 days; --redo failed sends the task again"
FILE_GONE = "its file in RUNDIR/batches is gone, so it was not sent"
NO_API = "the server {} has no Message Batches API: leave --batch-api out, or use the API of provider anthropic"


class Results:
    """Of one start of a batch."""

    def __init__(self, request: BatchRequest, folder: RunFolder, requests: Requests, version: str) -> None:
        self._flags = request.run
        self._folder = folder
        self._requests = requests
        self._version = version

    def write(self, flight: Flight, number: int, active: Active, result: Result) -> tuple[list[bytes], Outcome]:
        """Writes the events of the request with this number. Returns them and the outcome. Raises `RunFilesError`."""
        task, attempt, schema = active.task, active.attempt, None
        try:
            schema = self._requests.schema(task)
        except UsageError as error:
            result = NoReply(TaskStatus.USAGE, str(error))
        lines, outcome = write_up(self._sent(flight, number, active), result, schema)
        files = RunFiles(self._folder.events(task.id, attempt), self._folder.stderr(task.id, attempt))
        try:
            files.write(b"".join(lines))
        finally:
            files.close()
        return lines, outcome

    def _sent(self, flight: Flight, number: int, active: Active) -> SentRequest:
        task, batch = active.task, flight.batch
        params = None if flight.file is None else flight.file.sent(number)
        content = params.messages[0].get("content") if params is not None and params.messages else None
        ended = time.time()
        started = ended if batch is None else batch.planned
        return SentRequest(
            attempt=Attempt(task.id, active.attempt, active.digest, task.meta, task.repeat or 0),
            custom_id=custom_id(flight.nonce, number) if flight.nonce else "",
            model=params.model if params is not None else task.model or self._flags.model or "",
            content=content if isinstance(content, list) else [{"type": "text", "text": task.prompt}],
            cwd=task.cwd or self._flags.cwd or os.getcwd(),
            version=self._version,
            started=utc_text(started),
            ended=utc_text(ended),
            duration_s=max(0.0, ended - started),
        )

    def refused(self, flight: Flight, failure: Failure, number: int) -> Result:
        """For a request of a message batch that the provider has refused to create."""
        line = {"type": "error", "kind": failure.kind, "status": failure.status, "message": failure.message}
        access = self._requests.find_access(flight.left[number].task)
        if failure.status in (404, 405):
            return {**line, "message": f"{NO_API.format(access.endpoint.shown)} ({failure.message})"}
        advise(line, "" if flight.file is None else flight.file.sent(number).model, access)
        return line


def result_of(answer: ResultLine) -> Result:
    return no_reply(answer.reason) if answer.line is None else answer.line


def unsendable(_number: int) -> Result:
    """For a request that was planned, never sent, and is not known any longer."""
    return NoReply(TaskStatus.ERROR, FILE_GONE, may_pass=True)


def missing(flight: Flight, number: int) -> Result:
    """For a request without a result in a message batch that has ended."""
    return NoReply(TaskStatus.ERROR, MISSING, may_pass=True, lost=flight.reserved(number))


def gone(flight: Flight, batch: str, number: int) -> Result:
    """For a request of a message batch whose results are out of reach."""
    which = f"message batch {batch}" if batch else "a message batch that may have had it"
    return NoReply(TaskStatus.ERROR, GONE.format(which), lost=flight.reserved(number))
