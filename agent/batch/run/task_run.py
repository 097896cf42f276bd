"""Carries out one attempt of a task: makes its workspace, runs `setup`, the prompt and `check`, saves the diff, and says
how all this ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.run.begin import decode_request, run_request, set_environment, with_files
from agent.configure import prepare
from agent.headless import Headless
from agent.output.result_record import result_record
from agent.request_checks import UsageError
from agent.run.cost import NOTHING
from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.keeper import Keeper
from wire import events
from wire.batch.link import Ended, Phase
from wire.batch.outcome import TaskStatus
from wire.batch.task import TaskError, decode_task
from wire.exit_codes import Status

if TYPE_CHECKING:
    from agent.batch.run.link import Link
    from agent.model.access import Access
    from agent.model.provider import Provider, ProviderUnavailable
    from supervisor.loop.loop import Loop
    from wire.batch.link import Begin
    from wire.batch.outcome import CommandEnd

STDOUT = 1
BATCH_GONE = "the batch has gone"


class Early(Exception):
    """The attempt ends before its prompt."""

    def __init__(self, status: TaskStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class TaskRun:
    """One attempt. By the end of `run` every record is written, every process that it has started has ended, and the
    batch knows the outcome."""

    def __init__(self, link: Link, begin: Begin) -> None:
        self._link = link
        self._begin = begin
        self._setup: CommandEnd | None = None
        self._check: CommandEnd | None = None
        self._diff = ""

    def run(self) -> int:
        """Returns the exit status of the process."""
        try:
            result = self._carry_out()
            status, reason, exit_code = TaskStatus(result.status), result.reason, result.exit_code
        except Early as early:
            status, reason = early.status, str(early)
            exit_code = self._write_result(status, reason)
        self._link.send(Ended(status=status, reason=reason, setup=self._setup, check=self._check, diff=self._diff))
        return exit_code

    def _carry_out(self) -> events.Result:
        """Raises `Early`."""
        begin = self._begin
        try:
            task = decode_task(bytes(begin.task))
            os.environ[TOKEN] = begin.token
            set_environment(os.environ, task)
            request = run_request(decode_request(begin.request), task)
            request, prompt = with_files(request, task)
            prepared = prepare(request, self._lease)
        except (TaskError, UsageError, msgspec.DecodeError) as error:
            raise Early(TaskStatus.USAGE, str(error)) from None
        keeper = Keeper(begin.token, task.id)

        def make_provider(loop: Loop) -> Provider | ProviderUnavailable:
            self._link.attach(loop)
            return prepared.make_provider(loop)

        headless = Headless(
            replace(prepared.options, keeper=keeper),
            version=begin.version,
            make_provider=make_provider,
            on_record=self._on_record,
            stdout=STDOUT,
        )
        self._link.on_end = lambda: self._abort(headless)
        try:
            return headless.run(prompt, images=prepared.images)
        finally:
            self._link.detach()

    def _lease(self, _loop: Loop, access: Access) -> Provider:
        from agent.batch.run.leased_provider import LeasedProvider  # a replayed run has no server

        return LeasedProvider(access, self._link, self._begin.run)

    def _on_record(self, record: events.Record) -> None:
        if isinstance(record, events.Session):
            self._link.send(Phase("running"))

    def _abort(self, headless: Headless) -> None:
        """The batch wants the run to end, or has gone."""
        if self._link.abort is not None:
            headless.end(Status(self._link.abort.status), self._link.abort.reason)
        if self._link.is_lost:
            headless.end(Status.INTERRUPTED, BATCH_GONE, at_once=True)

    def _write_result(self, status: TaskStatus, reason: str) -> int:
        """Writes a stream that has nothing but an outcome. Returns the exit status."""
        words = next((each for each in Status if each.value == status.value), Status.ERROR)
        print(f"zot: {reason}", file=sys.stderr)  # noqa: T201
        result = result_record(words, reason, text="", steps=0, usage=NOTHING, duration_s=0, session="", extensions={})
        data = b"".join(events.encode(record) for record in (events.Error(reason), result, events.Done()))
        try:
            while data:
                data = data[os.write(STDOUT, data) :]
        except OSError:
            pass  # the batch has gone
        return result.exit_code
