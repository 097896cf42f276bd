"""The process of one run of a batch, and the batch's end of its link."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from agent.batch.run.begin import encode_request
from agent.options import RunRequest
from supervisor.cleanup.env_marks import TOKEN
from tests.support.marked_processes import command_line, marked_pids
from tests.support.patience import PATIENCE_S
from tests.support.warm_start import MARK, ROOT
from tests.support.zot_process import Outcome, Running
from wire.batch import link
from wire.batch.task import Task, encode_task

if TYPE_CHECKING:
    from tests.support.zot_process import Zot

PROGRAM = ROOT / "agent/batch/run/run_main.py"
Message = TypeVar("Message", bound=link.FromRun)


class BatchRun(Running):
    """A started run. Its event stream is its standard output; `take` reads the link. Without a task it is told nothing
    yet."""

    def __init__(self, zot: Zot, task: Task | None, *, request: RunRequest | None = None, **begin: Any) -> None:
        self.link, theirs = socket.socketpair()
        self.token = os.urandom(16).hex() + ".1"
        self._unread = b""
        with theirs:
            super().__init__(
                [sys.executable, "-P", str(PROGRAM), str(theirs.fileno())],
                env={**zot.env, MARK: uuid.uuid4().hex}, cwd=zot.cwd, folder=zot.folder, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        if task is None:
            return
        flags = request or RunRequest(cwd=str(zot.cwd), home=zot.home)
        self.send(
            link.Begin(
                task=msgspec.Raw(encode_task(task)),
                attempt=1,
                run="7",
                request=encode_request(flags),
                token=self.token,
                version="0",
                **begin,
            )
        )

    def send(self, message: link.FromBatch) -> None:
        self.link.sendall(link.encode(message))

    def send_line(self, line: dict[str, Any]) -> None:
        """A line of a model worker."""
        self.link.sendall(msgspec.json.encode(line) + b"\n")

    def take(self, kind: type[Message]) -> Message:
        """The next message of this kind; those before it are dropped."""
        while True:
            message = self._next()
            if isinstance(message, kind):
                return message

    def _next(self) -> link.FromRun:
        deadline = time.monotonic() + PATIENCE_S
        while b"\n" not in self._unread:
            assert select.select([self.link], [], [], max(0.0, deadline - time.monotonic()))[0], self.errors()
            data = self.link.recv(1 << 16)
            assert data, f"the link has ended; {self.errors()}"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return link.decode_from_run(line)

    def end(self) -> tuple[Outcome, link.RunEnded]:
        """Waits for the end of the process."""
        outcome = self.finish()
        return outcome, self.take(link.RunEnded)

    def finish(self, timeout_s: float = PATIENCE_S) -> Outcome:
        outcome = super().finish(timeout_s)
        left = [command_line(pid) for pid in marked_pids(TOKEN, self.token)]
        assert left == [], left
        return outcome

    def __exit__(self, *exc: object) -> None:
        self.link.close()
        super().__exit__(*exc)
