"""A rehearsal of a run, in the process of the template: one with a model, played by this module, and one from a
cassette.

Objects that Python and libraries make at the first use are then in the memory that all forks share. Nothing remains: no
descriptor, no process, no file, no variable.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from agent.batch.run.begin import encode_request
from agent.batch.run.link import BatchLink
from agent.batch.run.rehearsed_host import NAME, rehearsed_host
from agent.batch.run.task_run import TaskRun
from agent.cassette import CassetteRecorder
from agent.options import RunRequest
from supervisor.home.scratch import scratch_folder
from wire.batch import link as messages
from wire.batch.task import Task, encode_task
from wire.framing import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.loop.loop import Loop

Call = dict[str, str]
TOKEN = "rehearsal"  # noqa: S105  (the mark of its processes)
USAGE = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}
CALLS = ({"name": "bash", "args": '{"command":"true"}'},)
"""Calls of the first replies, one each; the last reply calls nothing."""
HOSTED_CALLS = (*CALLS, {"name": NAME, "args": "{}"})
"""The calls of a run that shares an extension."""


class RehearsalError(Exception):
    """A rehearsed run has not ended as it should: nor would others. The text says how it did."""


def rehearse(*, is_hosted: bool = False) -> None:
    """With `is_hosted` the runs share an extension. Raises `RehearsalError`."""
    environ = dict(os.environ)
    with scratch_folder("rehearsal") as folder:
        os.environ.pop("XDG_RUNTIME_DIR", None)  # no `zot ps` sees it
        try:
            if is_hosted:
                with rehearsed_host(folder) as (host, extension):
                    _rehearse(folder, HOSTED_CALLS, host=host, is_host_of_batch=True, extensions=(extension,))
            else:
                _rehearse(folder, CALLS)
        finally:
            os.environ.clear()
            os.environ.update(environ)


def _rehearse(folder: Path, calls: Sequence[Call], **flags: Any) -> None:
    cassette = folder / "cassette.jsonl"
    request = RunRequest(home=folder / "home", cwd=str(folder), discover=False, **flags)
    live = Task(id="live", prompt="a", provider="anthropic", base_url="http://localhost:1")
    exchanges = _run(request, live, calls)
    with CassetteRecorder(cassette, cwd=str(folder)) as recorder:
        for params, reply in exchanges:
            recorder.add(params, reply)
    _run(request, Task(id="replayed", prompt="a", replay=str(cassette)), calls)


def _run(request: RunRequest, task: Task, calls: Sequence[Call]) -> list[tuple[Any, list[Any]]]:
    """Carries out the task, and returns what the model was asked and has answered."""
    ours, theirs = socket.socketpair()
    with open(os.devnull, "r+b", buffering=0) as null, ours:
        batch = _Batch(ours, task, request, calls)
        link = BatchLink(theirs.detach())
        TaskRun(
            link, link.begin(), stdout=null.fileno(), stderr=null.fileno(), owns_process=False, beside=batch.attach
        ).run()
        link.close()
        return batch.ended()


class _Batch:
    """The other end of the link, on the loop of the run itself."""

    def __init__(self, sock: socket.socket, task: Task, request: RunRequest, calls: Sequence[Call]) -> None:
        self._sock = sock
        self._calls = calls
        self._sock.setblocking(False)
        self._splitter = LineSplitter()
        self._exchanges: list[tuple[Any, list[Any]]] = []
        begin = messages.Begin(
            task=msgspec.Raw(encode_task(task)), attempt=1, run="0", request=encode_request(request), token=TOKEN,
            version="0",
        )  # fmt: skip
        self._sock.send(messages.encode(begin))

    def attach(self, loop: Loop) -> None:
        loop.watch(self, read=True)

    def fileno(self) -> int:
        return self._sock.fileno()

    def on_readable(self, budget: int) -> None:
        for line in self._splitter.feed(self._sock.recv(budget)):
            message = messages.decode_from_run(bytes(line))  # type: ignore[arg-type]
            if isinstance(message, messages.ModelRequest):
                self._answer(message)

    def on_writable(self) -> None:
        pass

    def _answer(self, request: messages.ModelRequest) -> None:
        reply = _reply(len(self._exchanges), self._calls)
        self._exchanges.append((orjson.loads(bytes(request.params)), reply))
        self._sock.send(b"".join(orjson.dumps({**line, "id": request.id}) + b"\n" for line in reply))

    def ended(self) -> list[tuple[Any, list[Any]]]:
        """All exchanges. Raises `RehearsalError` if the run has not ended well."""
        rest = self._splitter.feed(self._sock.recv(1 << 16))
        last = messages.decode_from_run(bytes(rest[-1]))  # type: ignore[arg-type]
        if not isinstance(last, messages.RunEnded) or last.reason:
            raise RehearsalError(f"the rehearsal of a run has failed: {last}")
        return self._exchanges


def _reply(number: int, calls: Sequence[Call]) -> list[dict[str, Any]]:
    """The lines of one reply of a model worker."""
    said: list[dict[str, Any]] = [{"type": "message_start", "usage": USAGE}, {"type": "text_delta", "delta": "a"}]
    content: list[dict[str, Any]] = [{"type": "text", "text": "a"}]
    for call in calls[number : number + 1]:
        call_id = f"c{number}"
        said += [
            {"type": "tool_use_start", "call_id": call_id, "name": call["name"]},
            {"type": "tool_use_args", "call_id": call_id, "delta": call["args"]},
            {"type": "tool_use_end", "call_id": call_id},
        ]
        content.append({"type": "tool_call", "id": call_id, **call})
    stop = "tool_use" if number < len(calls) else "end_turn"
    return [*said, {"type": "final", "content": content, "stop_reason": stop, "usage": USAGE}]
