"""A provider with a server: a worker process that imports the official SDK and talks to the Messages API.

The import takes time and memory. The worker keeps both out of the host, and imports while the extensions shake hands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from agent.model.provider import TERMINAL, Stream
from agent.model.worker_process import (
    LINES_WAITING,
    REQUEST_LIMIT,
    ModelWorker,
    advise,
    configure_line,
    program_starter,
    worker_failed,
)
from supervisor.process.child import SpawnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.access import Access
    from agent.model.provider import Line
    from supervisor.loop.loop import Loop
    from supervisor.process.teardown import Stoppable, StoppableProcess


class AnthropicProvider:
    """Sends requests to the model worker. If it ends, the open request fails, and the next one starts a new worker."""

    error: str | None = None

    def __init__(self, loop: Loop, access: Access) -> None:
        self._loop = loop
        self._access = access
        self.name = access.provider.name
        self.address = access.endpoint.shown
        self._worker: ModelWorker | None = None
        self._refusal = ""
        self._stream: Stream | None = None
        self._requests = 0
        self._model = ""
        """The model of the last request."""
        self._is_cancelled = False
        """Whether the worker was killed because of a cancel, and has not ended yet."""
        self._held = b""
        """A request that waits for the end of the killed worker; b"" for none."""
        self._is_kept_warm = False
        """Whether to restart, once, a worker that ends between requests."""

    def start(self) -> None:
        """Starts the worker. If that fails, the next request fails."""
        self._refusal = ""
        try:
            self._worker = ModelWorker(
                self._loop,
                program_starter(self._loop),
                configure_line(self._access),
                on_line=self._on_line,
                on_fault=self._fail,
                on_end=self._on_end,
            )
        except SpawnError as error:
            self._worker = None
            self._refusal = str(error)

    @property
    def child(self) -> StoppableProcess | None:
        return None if self._worker is None else self._worker.child

    @property
    def is_ready(self) -> bool:
        return self._worker is not None and self._worker.is_ready

    @property
    def _is_running(self) -> bool:
        return self._worker is not None and self._worker.is_running

    def request(self, params: dict[str, Any]) -> Stream:
        stream = self._stream = Stream(on_empty=self._read_on)
        self._is_kept_warm = False
        self._requests += 1
        self._model = str(params.get("model", ""))
        line = orjson.dumps({"type": "request", "id": str(self._requests), "params": params}) + b"\n"
        if len(line) > REQUEST_LIMIT:
            self._fail(f"the conversation makes a request of more than {REQUEST_LIMIT} bytes")
        elif self._is_cancelled:
            self._held = line
        else:
            self._send(line)
        return stream

    def _send(self, line: bytes) -> None:
        if not self._is_running:
            self.start()
        if self._worker is None:
            self._fail(f"the model worker could not be started: {self._refusal}")
        else:
            self._worker.send(line)

    def cancel(self) -> None:
        """Kills a worker that serves a request: it would read the whole reply. The next request starts another."""
        if self._stream is not None and self._worker is not None:
            self._is_cancelled = True
            self._worker.kill()
        self._stream = None
        self._read_on()
        self._held = b""

    def warm_up(self) -> None:
        """Starts a worker if none runs: at once, or after the end of a killed one. A worker that ends before the next
        request is restarted, but only once: the cause of its end may last."""
        self._is_kept_warm = True
        if not self._is_cancelled and not self._is_running:
            self.start()

    def stoppables(self) -> Sequence[Stoppable]:
        self._is_kept_warm = False
        self._held = b""
        return [] if self._worker is None else [self._worker]

    def _on_line(self, line: Line, _raw: bytes | bytearray) -> None:
        if self._stream is None or line.get("id") != str(self._requests):
            return
        if line["type"] == "error":
            advise(line, self._model, self._access)
        stream = self._stream
        stream.feed(line)
        if line["type"] in TERMINAL:
            self._stream = None
        elif stream.waiting >= LINES_WAITING and self._worker is not None:
            self._worker.hold()

    def _read_on(self) -> None:
        """Reads the worker's lines again after the run has taken all waiting ones."""
        if self._worker is not None:
            self._worker.read_on()

    def _on_end(self, last_words: str) -> None:
        if self._is_cancelled:
            self._is_cancelled = False
            if self._held:
                self._send(self._held)
                self._held = b""
            elif self._is_kept_warm:
                self.start()
            return
        self._fail(last_words)
        if self._is_kept_warm:
            self._is_kept_warm = False
            self.start()

    def _fail(self, message: str) -> None:
        if self._stream is not None:
            self._stream.feed(worker_failed(message))
            self._stream = None
