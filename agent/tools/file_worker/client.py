"""The host's side of the file worker: starts it before the first call, and again after it has died."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from supervisor.discovery.environment import child_environment
from supervisor.loop.future import Failure, Pending
from supervisor.process.child import Child, SpawnError
from wire.framing import LineSplitter, Oversize

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence

    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from supervisor.process.teardown import Stoppable

WORKER = Path(__file__).with_name("main.py")
FILE_TOOLS = frozenset({"read", "write", "edit"})
CALL_S = 60.0
"""Maximum of a call in seconds. After it the call fails, and the worker is killed: its file system may hang."""
ANSWER_LIMIT = 256 * 1024 * 1024
"""Maximum of one answer, and of the waiting requests, in bytes."""


class FileCall:
    """A call that is under way."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    def cancel(self, reason: str) -> None:
        """Fails the call if it has not ended. A write under way is atomic: it happens completely or not at all."""
        self._pending.fail(Failure.CANCELLED, reason)


class FileTools:
    """Carries out `read`, `write` and `edit` in a child, so that a hanging file system never hangs the host."""

    def __init__(self, loop: Loop, cwd: str, root: str = "") -> None:
        """With a `root` no call reaches anything that is not beneath it."""
        self._loop = loop
        self._where = {"cwd": cwd, "root": root} if root else {"cwd": cwd}
        self.child: Child | None = None
        self._splitter = LineSplitter(ANSWER_LIMIT)
        self._pending: deque[Pending] = deque()

    def start(self) -> None:
        """Starts the worker, unless it is running. If the worker cannot be started, the next call fails."""
        if self.child is not None and self.child.is_running:
            return
        self._splitter = LineSplitter(ANSWER_LIMIT)
        try:
            self.child = Child(
                self._loop,
                [sys.executable, "-I", "-S", str(WORKER)],
                cwd="/",
                env=child_environment(),
                on_stdout=self._on_stdout,
                on_stderr=lambda _data: None,
                on_exit=self._on_exit,
                outbox_limit=ANSWER_LIMIT,
            )
        except SpawnError as error:
            self.child = None
            self._fail_all(str(error))

    def call(self, name: str, args: bytes) -> Pending:
        """Calls a tool with a JSON object. The answer is the worker's: `{"content": […], "is_error": bool}`."""
        self.start()
        pending = Pending()
        request = {"id": "1", "name": name, "args": orjson.Fragment(args), **self._where}
        if self.child is None or not self.child.send(orjson.dumps(request) + b"\n"):
            pending.fail(Failure.DIED, "the file worker could not be started")
        else:
            self._pending.append(pending)
        return pending

    def give_up(self, pending: Pending, failure: Failure, reason: str) -> None:
        """Fails a call that takes too long, and kills the worker, which may hang in the kernel."""
        import signal

        pending.fail(failure, reason)
        self._kill(signal.SIGKILL)

    def cancel_pending(self, reason: str) -> None:
        """Fails all open calls after an abort. A write under way is atomic: it happens completely or not at all."""
        for pending in self._pending:
            pending.fail(Failure.CANCELLED, reason)

    def stoppables(self) -> Sequence[Stoppable]:
        return [self]

    def ask_to_stop(self) -> None:
        self.hint_to_stop()

    def hint_to_stop(self) -> None:
        if self.child is not None and self.child.stdin is not None:
            self.child.stdin.close()

    def _kill(self, number: signal.Signals) -> None:
        if self.child is not None:
            self.child.kill_group(number)

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if isinstance(line, Oversize):
                self._answer_next(_failure(f"the result of {line.size} bytes is too large"))
                continue
            try:
                message = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                self._answer_next(_failure(f"the file worker's answer is not JSON: {error}"))
                continue
            if message.get("type") != "ready":
                self._answer_next(message)

    def _answer_next(self, answer: dict[str, Any]) -> None:
        if self._pending:
            self._pending.popleft().answer(answer)

    def _on_exit(self, status: ExitStatus) -> None:
        self._fail_all(f"the file worker ended ({status})")

    def _fail_all(self, reason: str) -> None:
        while self._pending:
            self._pending.popleft().fail(Failure.DIED, reason)


def _failure(reason: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": reason}], "is_error": True}
