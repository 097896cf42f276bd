"""The provider of a run in a batch: its requests go over the link, and a model worker of the batch's answers them.

The batch lends the run a worker for one request at a time, when the rate limits allow it. To the run a request that
waits for that is like one whose reply takes its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from agent.cassette.reply_lines import problem_of_worker_line
from agent.model.provider import TERMINAL, Stream
from agent.model.worker_process import LINES_WAITING, REQUEST_LIMIT, advise, configure_line, worker_failed
from wire.batch.link import Cancel, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.batch.run.link import BatchLink
    from agent.model.access import Access
    from agent.model.provider import Line
    from supervisor.process.teardown import Stoppable


class LeasedProvider:
    """Sends requests over the link. Their ids are `RUN.1`, `RUN.2` and so on: unique in the batch."""

    error: str | None = None
    is_ready = True

    def __init__(self, access: Access, link: BatchLink, run: str) -> None:
        self.name = access.provider.name
        self.address = access.endpoint.shown
        self._access = access
        self._link = link
        self._run = run
        self._configure = msgspec.Raw(orjson.dumps(configure_line(access)))
        self._requests = 0
        self._model = ""
        self._stream: Stream | None = None
        """The reply that is not complete yet."""
        link.on_line = self._on_line

    @property
    def _id(self) -> str:
        return f"{self._run}.{self._requests}"

    def start(self) -> None:
        """Does nothing: the batch has workers."""

    def request(self, params: dict[str, Any]) -> Stream:
        stream = self._stream = Stream(on_empty=self._link.read_on)
        self._requests += 1
        self._model = str(params.get("model", ""))
        encoded = orjson.dumps(params)
        if len(encoded) > REQUEST_LIMIT:
            self._fail(f"the conversation makes a request of more than {REQUEST_LIMIT} bytes")
        else:
            self._link.send(ModelRequest(self._id, self._configure, self._model, msgspec.Raw(encoded)))
        return stream

    def cancel(self) -> None:
        """Tells the batch to give the request up."""
        if self._stream is not None:
            self._stream = None
            self._link.send(Cancel(self._id))
        self._link.read_on()

    def warm_up(self) -> None:
        """Does nothing: the batch has workers."""

    def stoppables(self) -> Sequence[Stoppable]:
        return ()

    def _on_line(self, line: Line) -> None:
        stream = self._stream
        if stream is None or line.get("id") != self._id:
            return
        if problem := problem_of_worker_line(line):
            self._fail(f"a line from the model worker is not valid: {problem}")
            return
        if line["type"] == "error":
            advise(line, self._model, self._access)
        stream.feed(line)
        if line["type"] in TERMINAL:
            self._stream = None
        elif stream.waiting >= LINES_WAITING:
            self._link.pause()

    def _fail(self, message: str) -> None:
        if self._stream is not None:
            self._stream.feed(worker_failed(message))
            self._stream = None
