"""The model workers of all conversations. A worker serves one request at a time: an idle one that is connected in the
same way, or a new one. As in `zot rpc`, a worker waits for rate limits by itself, and its conversation sees that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import orjson

from agent.batch.pool.leases import WorkerConnection, WorkerSet, request_line
from agent.model.provider import TERMINAL
from agent.model.worker_process import REQUEST_LIMIT, worker_failed
from supervisor.process.child import SpawnError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.model.provider import Line
    from agent.model.worker_process import ModelWorker, StartWorker
    from supervisor.loop.loop import Loop
    from wire.batch.link import ModelRequest


class OpenRequest(NamedTuple):
    """A request that a worker has."""

    conversation: str
    id: str
    connection: WorkerConnection


class SharedWorkers:
    """At most `most` workers. `on_line` gets the name of the conversation and a line for it, without its LF."""

    def __init__(
        self, loop: Loop, start: StartWorker, *, most: int, on_line: Callable[[str, bytes | bytearray], None]
    ) -> None:
        self._most = most
        self._on_line = on_line
        self._open: dict[str, tuple[OpenRequest, ModelWorker]] = {}
        """By conversation: each makes one request at a time."""
        self._workers: WorkerSet[OpenRequest] = WorkerSet(loop, start, on_line=self._take, on_failed=self._fail)

    def request(self, conversation: str, asked: ModelRequest) -> None:
        """Passes the request on. A fault becomes the `error` line of its reply."""
        self.cancel(conversation)
        raw = bytes(asked.configure)
        try:
            configure = msgspec.json.decode(raw, type=dict[str, Any])
        except msgspec.DecodeError as error:
            self._refuse(conversation, asked.id, f"the request of the conversation is not valid: {error}")
            return
        line = request_line(asked)
        if len(line) > REQUEST_LIMIT:
            self._refuse(conversation, asked.id, f"the conversation makes a request of more than {REQUEST_LIMIT} bytes")
            return
        request = OpenRequest(conversation, asked.id, WorkerConnection({"provider": "", **configure}, raw))
        try:
            worker = self._workers.lease(request, self._most)
        except SpawnError as error:
            self._refuse(conversation, asked.id, f"the model worker could not be started: {error}")
            return
        self._open[conversation] = request, worker
        worker.send_once_ready(line)

    def cancel(self, conversation: str) -> None:
        """The conversation wants no reply, or has ended: its worker is killed, if it has one."""
        if (found := self._open.pop(conversation, None)) is not None:
            self._workers.kill(found[0])

    def set_pace(self, conversation: str, *, is_behind: bool) -> None:
        """A conversation that does not read what comes holds its worker back."""
        if (found := self._open.get(conversation)) is None:
            return
        if is_behind:
            found[1].hold()
        else:
            found[1].read_on()

    def stop(self) -> Sequence[ModelWorker]:
        """Forgets all requests, and returns the workers, for the one who stops them."""
        self._open.clear()
        return self._workers.stop()

    def _take(self, request: OpenRequest, line: Line, raw: bytes | bytearray) -> None:
        if line["type"] in TERMINAL:
            self._open.pop(request.conversation, None)
            self._workers.free(request)
        self._on_line(request.conversation, raw)

    def _fail(self, request: OpenRequest, message: str) -> None:
        self._open.pop(request.conversation, None)
        self._refuse(request.conversation, request.id, message)

    def _refuse(self, conversation: str, request_id: str, message: str) -> None:
        self._on_line(conversation, orjson.dumps({**worker_failed(message), "id": request_id}))
