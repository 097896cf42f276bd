"""A provider with a server: a worker process that imports the official SDK and talks to the Messages API.

The import takes time and memory. The worker keeps both out of the host, and imports while the extensions shake hands.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from agent.cassette.reply_lines import problem_of_worker_line
from agent.model.access import CredentialKind
from agent.model.advice import FailedRequest, advice
from agent.model.presets import ANTHROPIC
from agent.model.provider import TERMINAL, Stream
from supervisor.discovery.environment import CUSTOM_HEADERS, child_environment
from supervisor.process.child import Child, SpawnError
from wire.framing import LineSplitter, Oversize
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.access import Access
    from agent.model.provider import Line
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from supervisor.process.teardown import Stoppable

WORKER = Path(__file__).with_name("worker_main.py")
MAX_RETRIES = 2
"""Retries before the stream has begun: for connection errors, 408, 409, 429 and 5xx, after Retry-After."""
REQUEST_LIMIT = 64 * 1024 * 1024
"""Bytes of one request: twice what Anthropic takes."""
LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one line from the worker. The longest has a whole reply, of which each character may take six bytes."""
LINES_WAITING = 1_000
"""While so many lines wait for the run, for example because nobody reads its output, the worker is not read."""
MESSAGE_LENGTH = 1_000
"""Characters of an error's message."""
STDERR_KEPT = 4096
"""Bytes."""


class AnthropicProvider:
    """Sends requests to the model worker. If the worker ends, the open request fails, and the next request starts a new
    worker."""

    error: str | None = None

    def __init__(self, loop: Loop, access: Access) -> None:
        self._loop = loop
        self._access = access
        self.name = access.provider.name
        self._headers = (CUSTOM_HEADERS,) if access.provider is ANTHROPIC else ()
        credential = access.credential
        self._configure = {
            "type": "configure",
            "provider": self.name,
            "api_key": credential.value if credential.kind is CredentialKind.KEY else None,
            "auth_token": credential.value if credential.kind is CredentialKind.TOKEN else None,
            "base_url": access.endpoint.url,
            "max_retries": MAX_RETRIES,
            "idle_timeout_s": access.idle_timeout_s,
        }
        self.child: Child | None = None
        self._splitter = LineSplitter()
        self._refusal = ""
        self._stderr = b""
        self._ready = False
        self._is_paused = False
        self._stream: Stream | None = None
        self._requests = 0
        self._model = ""
        """The model of the last request."""
        self._is_cancelled = False
        """Whether the worker was killed with its request, and has not ended yet."""
        self._held = b""
        """A request that waits for that end."""
        self._is_kept_warm = False
        """Whether a worker that ends between requests is started again, once."""

    def start(self) -> None:
        """Starts the worker. If that fails, the next request fails."""
        self._ready = False
        self._is_paused = False
        self._refusal = ""
        self._splitter = LineSplitter(LINE_LIMIT)
        try:
            self.child = Child(
                self._loop,
                [sys.executable, "-P", str(WORKER)],
                cwd="/",
                env=child_environment(*self._headers),
                on_stdout=self._on_stdout,
                on_stderr=self._on_stderr,
                on_exit=self._on_exit,
                outbox_limit=2 * REQUEST_LIMIT,
            )
        except SpawnError as error:
            self.child = None
            self._refusal = str(error)
            return
        self.child.send(orjson.dumps(self._configure) + b"\n")

    @property
    def is_ready(self) -> bool:
        return self._ready

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
        if self.child is None or not self.child.is_running:
            self.start()
        if self.child is None:
            self._fail(f"the model worker could not be started: {self._refusal}")
        elif not self.child.send(line):
            self.child.kill_group(signal.SIGKILL)  # the worker has closed its stdin; its exit status becomes the error

    def cancel(self) -> None:
        """Kills the worker if it serves a request: it would go on until the reply ends. The next request starts a new
        one."""
        if self._stream is not None and self.child is not None:
            self._is_cancelled = True
            self.child.kill_group(signal.SIGKILL)
        self._stream = None
        self._read_on()
        self._held = b""

    def warm_up(self) -> None:
        """Starts a worker if none runs: at once, or when the one has ended that was killed. A worker that ends until
        the next request is started again, too, but only once: what kills it may go on."""
        self._is_kept_warm = True
        if not self._is_cancelled and (self.child is None or not self.child.is_running):
            self.start()

    def stoppables(self) -> Sequence[Stoppable]:
        self._is_kept_warm = False
        self._held = b""
        return [self]

    def ask_to_stop(self) -> None:
        """Closes the worker's stdin: the worker exits at the end of file, also in the middle of a reply."""
        self.hint_to_stop()

    def hint_to_stop(self) -> None:
        if self.child is not None and self.child.stdin is not None:
            self.child.stdin.close()

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if isinstance(line, Oversize):
                self._fail(f"a line of {line.size} bytes from the model worker is too long")
                continue
            try:
                message = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                self._fail(f"a line from the model worker is not JSON: {error}")
                continue
            if problem := problem_of_worker_line(message):
                self._fail(f"a line from the model worker is not valid: {problem}")
            elif message["type"] == "ready":
                self._ready = True
            elif self._stream is not None and message.get("id") == str(self._requests):
                self._feed(self._stream, message)

    def _feed(self, stream: Stream, message: Line) -> None:
        if message["type"] == "error":
            message["message"] = one_line(message["message"], MESSAGE_LENGTH)
            message["advice"] = advice(FailedRequest(message, self._model, self._access))
        stream.feed(message)
        if message["type"] in TERMINAL:
            self._stream = None
        elif stream.waiting >= LINES_WAITING and not self._is_paused and self.child is not None:
            self._is_paused = True
            self._loop.watch(self.child.stdout)

    def _read_on(self) -> None:
        """Reads the worker's lines again once the run has taken all that waited."""
        if self._is_paused and self.child is not None and self.child.stdout.is_open:
            self._loop.watch(self.child.stdout, read=True)
        self._is_paused = False

    def _on_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-STDERR_KEPT:]

    def _on_exit(self, status: ExitStatus) -> None:
        if self._is_cancelled:
            self._is_cancelled = False
            if self._held:
                self._send(self._held)
                self._held = b""
            elif self._is_kept_warm:
                self.start()
            return
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        fatal = [line for line in lines if line.startswith("Fatal Python error")]  # frames of C follow it
        self._fail(": ".join([f"the model worker ended ({status})", *(fatal[:1] or lines[-1:])]))
        if self._is_kept_warm:
            self._is_kept_warm = False
            self.start()

    def _fail(self, message: str) -> None:
        if self._stream is not None:
            said = one_line(message, MESSAGE_LENGTH)
            self._stream.feed({"type": "error", "kind": "worker", "status": None, "message": said})
            self._stream = None
