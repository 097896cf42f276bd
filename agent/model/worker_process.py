"""One model worker, from its start to its end: its lines, each checked, and its last words."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from agent.cassette.reply_lines import problem_of_worker_line
from agent.model.access import CredentialKind
from agent.model.advice import FailedRequest, advice
from agent.model.presets import ANTHROPIC
from supervisor.discovery.environment import CUSTOM_HEADERS, child_environment
from supervisor.process.child import Child
from wire.framing import LineSplitter, Oversize
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.model.access import Access
    from agent.model.provider import Line
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from supervisor.template.forked_child import ForkedChild

WORKER = Path(__file__).with_name("worker") / "worker_main.py"
MAX_RETRIES = 2
"""Retries before the stream has begun: for connection errors, 408, 409, 429 and 5xx, after Retry-After."""
REQUEST_LIMIT = 64 * 1024 * 1024
"""Maximum of one request in bytes: twice the limit of Anthropic."""
LINE_LIMIT = 64 * 1024 * 1024
"""Maximum of a line from the worker in bytes. One has a whole reply, where a character may take six bytes."""
LINES_WAITING = 1_000
"""The number of waiting lines at which the worker is not read, for example because no one reads the run's output."""
MESSAGE_LENGTH = 1_000
"""Maximum of an error's message in characters."""
STDERR_KEPT = 4096
"""The last bytes of stderr that are kept."""


class StartWorker(Protocol):
    """Starts a model worker for this provider. Raises `SpawnError`."""

    def __call__(
        self,
        provider: str,
        *,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        outbox_limit: int,
    ) -> Child | ForkedChild: ...


def worker_environment(provider: str) -> dict[str, str]:
    """The environment of a worker for this provider."""
    return child_environment(*((CUSTOM_HEADERS,) if provider == ANTHROPIC.name else ()))


def program_starter(loop: Loop, program: Path = WORKER) -> StartWorker:
    """Starts workers as programs of their own."""

    def start(
        provider: str,
        *,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        outbox_limit: int,
    ) -> Child:
        return Child(
            loop,
            [sys.executable, "-P", str(program)],
            cwd="/",
            env=worker_environment(provider),
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_exit=on_exit,
            outbox_limit=outbox_limit,
        )

    return start


class ModelWorker:
    """Starts and configures a worker. `on_line` gets each valid line, decoded and raw; `on_fault` gets the fault of an
    invalid line; `on_end` gets the worker's last words, once. Raises `SpawnError`."""

    def __init__(
        self,
        loop: Loop,
        start: StartWorker,
        configure: Mapping[str, Any],
        *,
        on_line: Callable[[Line, bytes | bytearray], None],
        on_fault: Callable[[str], None],
        on_end: Callable[[str], None],
        problem_of: Callable[[Any], str | None] = problem_of_worker_line,
    ) -> None:
        """`problem_of` says what is wrong with a line; None if nothing is."""
        self._loop = loop
        self._problem_of = problem_of
        self._on_line = on_line
        self._on_fault = on_fault
        self._on_end = on_end
        self._splitter = LineSplitter(LINE_LIMIT)
        self._stderr = b""
        self._is_held = False
        self._unsent = b""
        """The request that waits until the worker is ready."""
        self.is_ready = False
        """Whether it has imported the SDK."""
        self.child = start(
            str(configure["provider"]),
            on_stdout=self._on_stdout,
            on_stderr=self._on_stderr,
            on_exit=self._on_exit,
            outbox_limit=2 * REQUEST_LIMIT,
        )
        self.child.send(orjson.dumps(configure) + b"\n")

    @property
    def is_running(self) -> bool:
        return self.child.is_running

    def send(self, line: bytes) -> None:
        """Sends a request. A worker that has closed its input is killed: its last words become the error."""
        if not self.child.send(line):
            self.kill()

    def send_once_ready(self, line: bytes) -> None:
        """Sends a request as soon as the worker is ready; never if the worker ends before."""
        if self.is_ready:
            self.send(line)
        else:
            self._unsent = line

    def kill(self) -> None:
        self._unsent = b""
        self.child.kill_group(signal.SIGKILL)

    def hold(self) -> None:
        """Reads no lines until `read_on`."""
        if not self._is_held:
            self._is_held = True
            self._loop.watch(self.child.stdout)

    def read_on(self) -> None:
        if self._is_held and self.child.stdout.is_open:
            self._loop.watch(self.child.stdout, read=True)
        self._is_held = False

    def ask_to_stop(self) -> None:
        """Closes the worker's stdin: the worker exits at the end of file, also in the middle of a reply."""
        self.hint_to_stop()

    def hint_to_stop(self) -> None:
        if self.child.stdin is not None:
            self.child.stdin.close()

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if isinstance(line, Oversize):
                self._on_fault(f"a line of {line.size} bytes from the model worker is too long")
                continue
            try:
                message = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                self._on_fault(f"a line from the model worker is not JSON: {error}")
                continue
            if problem := self._problem_of(message):
                self._on_fault(f"a line from the model worker is not valid: {problem}")
            elif message["type"] == "ready":
                self.is_ready = True
                if self._unsent:
                    self.send(self._unsent)
            else:
                self._on_line(message, line)

    def _on_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-STDERR_KEPT:]

    def _on_exit(self, status: ExitStatus) -> None:
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        fatal = [line for line in lines if line.startswith("Fatal Python error")]  # frames of C follow it
        self._on_end(": ".join([f"the model worker ended ({status})", *(fatal[:1] or lines[-1:])]))


def configure_line(access: Access) -> Line:
    """The first line for a worker that uses this access."""
    credential = access.credential
    return {
        "type": "configure",
        "provider": access.provider.name,
        "api_key": credential.value if credential.kind is CredentialKind.KEY else None,
        "auth_token": credential.value if credential.kind is CredentialKind.TOKEN else None,
        "base_url": access.endpoint.url,
        "max_retries": MAX_RETRIES,
        "idle_timeout_s": access.idle_timeout_s,
    }


def worker_failed(message: str) -> Line:
    """The `error` line for a request whose worker has failed."""
    return {"type": "error", "kind": "worker", "status": None, "message": one_line(message, MESSAGE_LENGTH)}


def advise(line: Line, model: str, access: Access) -> None:
    """Prepares a worker's `error` line for the user: its message on one line, and advice."""
    line["message"] = one_line(line["message"], MESSAGE_LENGTH)
    line["advice"] = advice(FailedRequest(line, model, access))
