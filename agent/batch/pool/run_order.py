"""The order for a run: made from a task, its attempt, and the flags of the batch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from agent.batch.pool.run_facts import Attempt
from agent.batch.run.begin import encode_request
from agent.batch.workspace.base import repository_of
from agent.batch.workspace.command_prefix import split_prefix
from agent.request_checks import UsageError
from wire.batch import link
from wire.batch.task import encode_task
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.batch.batch_spans import BatchSpans
    from agent.batch.batch_trace import BatchTrace
    from agent.batch.journal.folder import RunFolder
    from agent.batch.pool.processes import Processes
    from agent.batch.request import BatchRequest
    from wire.batch.link import WorktreeBase
    from wire.batch.task import Task


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to run, and its limits."""

    attempt: Attempt
    begin: link.Begin
    events: Path
    stderr: Path
    timeout_s: float | None = None
    """Seconds of the whole attempt, without those in which it is paused."""
    on_spans: Callable[[bytes], None] | None = None
    """Gets each line with spans of the run, without its LF."""


class Orders:
    """Of one start of a batch. Raises `UsageError` for a folder or a flag that is not
    UTF-8: runs get them as JSON."""

    def __init__(
        self, request: BatchRequest, folder: RunFolder, version: str, processes: Processes,
        trace: BatchTrace | None = None, spans: BatchSpans | None = None,
    ) -> None:  # fmt: skip
        self._request = request
        self._folder = folder
        self._version = version
        self._processes = processes
        self._spans = spans
        self._count = 0
        self._bases: dict[str, WorktreeBase] = {}
        self._prefix = split_prefix(request.command_prefix)
        flags = request.run
        most = request.task_max_cost_usd if request.task_max_cost_usd is not None else flags.max_cost_usd
        try:
            if request.workspace != "shared":
                str(folder.path).encode()  # each workspace is in it
            self._plain = replace(flags, cwd=flags.cwd or os.getcwd(), max_cost_usd=most, **_of_batch(trace))
            self._flags = {"": encode_request(self._plain)}
        except UnicodeEncodeError as error:
            shown = repr(valid_text(error.object))
            raise UsageError(f"{shown} is not valid UTF-8, as folders and flags must be in a batch") from None

    def order(self, task: Task, attempt: int, digest: str) -> RunOrder:
        """Its run has an id and a token of its own."""
        request, folder = self._request, self._folder
        self._count += 1
        host = self._processes.host_socket()
        if host not in self._flags:
            self._flags[host] = encode_request(replace(self._plain, host=host, is_host_of_batch=True))
        if task.score is None and request.score is not None:
            task = replace(task, score=request.score)
        begin = link.Begin(
            task=Raw(encode_task(task).rstrip(b"\n")),
            attempt=attempt,
            run=f"{self._count}-{attempt}",
            request=self._flags[host],
            token=f"{self._processes.token}.{self._count}",
            version=self._version,
            workspace=str(folder.workspace(task.id)) if request.workspace != "shared" else "",
            base=self._base_of(task) if request.workspace == "worktree" else None,
            prefix=self._prefix,
            context=None if self._spans is None else self._spans.context_of(task.id),
        )
        limits = (task.timeout_s, request.task_timeout, request.run.timeout)
        return RunOrder(
            attempt=Attempt(task.id, attempt, digest, task.meta, task.repeat or 0, task.score is not None),
            begin=begin,
            events=folder.events(task.id, attempt),
            stderr=folder.stderr(task.id, attempt),
            on_spans=None if self._spans is None else self._spans.relay,
            timeout_s=next((limit for limit in limits if limit is not None), None),
        )

    def _base_of(self, task: Task) -> WorktreeBase:
        if not self._bases and (batch := self._folder.read_batch()) is not None:
            self._bases = {base.repository: base for base in batch.bases}
        return self._bases[repository_of(task.cwd or self._plain.cwd or os.curdir)]


def _of_batch(trace: BatchTrace | None) -> dict[str, Any]:
    """The fields of a run's request by which it adds its falls to the trace and to the events of the batch."""
    if trace is None:
        return {"trace": False}
    return {"trace": bool(trace.path), "batch_trace": trace.path or None, "batch_alerts": trace.inbox or None}
