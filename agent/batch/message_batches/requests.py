"""Makes the request to the model of a task: the one that a run of its own would send in its only turn."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agent.answers.schema import AnswerSchema, AnswerSchemaError
from agent.batch.run.begin import attach_files, run_request
from agent.configure import prepare
from agent.model.provider import ProviderUnavailable
from agent.model.request import build_params
from agent.request_checks import UsageError
from agent.transcript import Message, Text, now

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest
    from agent.configure import Prepared
    from agent.model.access import Access
    from agent.options import RunRequest
    from supervisor.loop.loop import Loop
    from wire.batch.task import Task

KEPT = 100
"""Prepared requests that are kept: tasks that differ only in their prompts have the same one."""


class UnavailableError(Exception):
    """The provider cannot be asked."""

    def __init__(self, unavailable: ProviderUnavailable) -> None:
        super().__init__(unavailable.reason)
        self.unavailable = unavailable


class Requests:
    """Of one start of a batch."""

    def __init__(self, loop: Loop, request: BatchRequest) -> None:
        self.access: Access | None = None
        """The server and the credential of all requests, once one was made."""
        self._loop = loop
        # Skills are tools: a run without tools has none of them.
        self._flags = replace(request.run, cwd=request.run.cwd or os.getcwd(), trace=False, skills=False)
        self._prepared: dict[RunRequest, Prepared] = {}
        self._schemas: dict[str, AnswerSchema] = {}

    def params(self, task: Task) -> dict[str, Any]:
        """The keyword arguments of the Messages API. Reads the files that go with the prompt. Raises `UsageError`,
        `UnavailableError`."""
        request, prompt = attach_files(run_request(self._flags, task), task)
        prepared = self._prepare(request)
        options = prepared.options
        message = Message("user", (Text(prompt), *prepared.images), now())
        return build_params(
            model=options.model, system=options.system, system_end=options.system_end, messages=[message], tools=(),
            max_tokens=options.reply_tokens, reasoning=options.reasoning, cache_ttl=options.cache_ttl,
        )  # fmt: skip

    def _prepare(self, request: RunRequest) -> Prepared:
        if (known := self._prepared.get(request)) is not None:
            return known
        found: list[Access] = []

        def take(_loop: Loop, access: Access) -> Any:
            found.append(access)

        prepared = prepare(request, take)
        if prepared.options.discovery is not None and (usable := prepared.options.discovery.usable):
            raise UsageError(f"--batch-api: extension {usable[0].manifest.name} would have to run: give --no-ext")
        made = prepared.make_provider(self._loop)
        if isinstance(made, ProviderUnavailable):
            raise UnavailableError(made)
        self.access = self.access or found[0]
        if found[0] != self.access:
            raise UsageError("--batch-api: all tasks of a batch go to the same server with the same credential")
        if len(self._prepared) >= KEPT:
            self._prepared.clear()
        self._prepared[request] = prepared
        return prepared

    def find_access(self, task: Task) -> Access:
        """The server and the credential, also if no request is made. Raises `UsageError`, `UnavailableError`."""
        if self.access is None:
            self._prepare(run_request(self._flags, task))
        assert self.access is not None
        return self.access

    def schema(self, task: Task) -> AnswerSchema | None:
        """The schema of the task's answer. Raises `UsageError` if its file can no longer be read."""
        given = run_request(self._flags, task).output_schema
        if given is None:
            return None
        if given not in self._schemas:
            try:
                self._schemas[given] = AnswerSchema(given)
            except AnswerSchemaError as error:
                raise UsageError(str(error)) from None
        return self._schemas[given]
