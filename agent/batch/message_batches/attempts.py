"""The attempts of a batch that go through message batches: in place of `agent.batch.attempts`, for the same batch.

A task that is started is gathered; `first_s` after the last one, its message batch is planned, created, awaited and
fetched as `lifecycle` says. An attempt under way outlives the batch process: the next start takes it up again.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.attempts import Active, Attempts
from agent.batch.journal.errors import FolderError
from agent.batch.journal.folder import RunFilesError, RunFolder
from agent.batch.log import utc_now
from agent.batch.message_batches import lifecycle
from agent.batch.message_batches.chunk import number_in
from agent.batch.message_batches.exchange import call_params, out_of_reach, state_after
from agent.batch.message_batches.flight import Flight
from agent.batch.message_batches.lifecycle import AT_PROVIDER, Call, Failure, Info, MessageBatch, Phase
from agent.batch.message_batches.provider_calls import ProviderCalls, ResultLine
from agent.batch.message_batches.request_file import RequestFile, remove_others
from agent.batch.message_batches.requests import Requests, UnavailableError
from agent.batch.message_batches.results import Result, Results, gone, missing, result_of, unsendable
from agent.batch.message_batches.words import sent_words
from agent.batch.message_batches.write_up import NoReply
from agent.batch.pool.run_facts import RunFacts
from agent.batch.tally import spent_in
from agent.request_checks import UsageError
from wire.batch import records
from wire.batch.journal_lines import BatchCreated, BatchPlanned, PlannedRequest
from wire.batch.outcome import TaskStatus
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.batch.journal.sent_batches import SentBatch
    from agent.batch.journal.writer import Journal
    from agent.batch.message_batches.provider_calls import Answer
    from agent.batch.request import BatchRequest, MessageBatchView
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.teardown import Stoppable
    from wire.batch.outcome import Outcome
    from wire.batch.task import Task

SLICE_S = 0.05
"""Seconds of one pass of the loop in which requests are made, or outcomes written, before others have their turn."""


class MessageBatchAttempts(Attempts):
    def __init__(self, loop: Loop, request: BatchRequest, tasks: Sequence[Task], version: str, **given: Any) -> None:
        """`given`: as with `Attempts`."""
        super().__init__(loop, request, **given)
        self._tasks = {task.id: task for task in tasks}
        self._files = RunFolder(request.folder)
        self._requests = Requests(loop, request)
        self._results = Results(request, self._files, self._requests, version)
        self._pace = lifecycle.pace_from(os.environ)
        self._calls: ProviderCalls | None = None
        self._flights: dict[str, Flight] = {}
        """By nonce."""
        self._gathered: Flight | None = None
        """The next message batch."""
        self._started_last = 0.0
        self._timer: Timer | None = None
        self._rests = False
        """Whether the next request is made in a later pass of the loop."""
        self._foreign: set[str] = set()
        """Tasks in message batches that are no tasks of this start."""

    def begin(self, journal: Journal) -> None:
        super().begin(journal)
        known = self._tasks
        if not self._tasks.keys() >= journal.state.sent.tasks.keys():
            known = {task.id: task for task in self._files.read_tasks()} | known
        for sent in journal.state.sent.open.values():
            self._take_up(sent, known)
        remove_others(self._files.batches, self._flights)
        self._loop.call_later(0.0, self._step)

    def _take_up(self, sent: SentBatch, known: dict[str, Task]) -> None:
        """Goes on with a message batch of an earlier start."""
        try:
            file = RequestFile.read(self._path(sent.nonce), sent.nonce)
        except (OSError, FolderError):
            file = None
        flight = self._flights[sent.nonce] = Flight(sent.nonce, file)
        for task_id, number in sent.left.items():
            if (task := known.get(task_id)) is None:
                continue
            active = Active(task, sent.requests[number].attempt, self._opened().state.history(task_id).digest)
            self._active[task_id] = active
            flight.add(number, active)
            if task_id not in self._tasks:
                self._foreign.add(task_id)
        batch = MessageBatch(nonce=sent.nonce, count=len(sent.requests), planned=sent.planned)
        info = Info(sent.id, "in_progress", sent.planned, sent.expires, batch.count) if sent.id else None
        flight.batch = lifecycle.begin_again(batch, self._loop.clock(), info)
        which = f"message batch {sent.id}" if sent.id else "a message batch that may not have been created"
        self._notice(f"{counted(len(flight.left), 'task')} went into {which}: awaited")

    def _path(self, nonce: str) -> Any:
        return self._files.batches / f"{nonce}.jsonl"

    # --- what is under way ------------------------------------------------------------------------------------

    @property
    def _all(self) -> list[Flight]:
        return [*self._flights.values(), *([] if self._gathered is None else [self._gathered])]

    def facts(self) -> list[RunFacts]:
        """The facts of one run with all requests without a result."""
        facts = RunFacts()
        for flight in self._all:
            facts.lost += flight.lost
        facts.has_unknown_cost = facts.lost.requests > 0
        return [facts]

    def sent(self) -> tuple[MessageBatchView, ...]:
        return tuple(flight.view(flight.batch) for flight in self._flights.values() if flight.batch is not None)

    @property
    def has_room(self) -> bool:
        """Whether a task may be started now. The budget counts the requests without a result at their maximum; while
        only that keeps it from more, it waits for results."""
        if self._rests:
            return False
        lost = [flight.lost for flight in self._all]
        if not any(one.requests for one in lost):
            return True
        limits, journal = self._request, self._opened()
        spent = spent_in(journal.state, limits.reserve, self.facts())
        if limits.max_cost_usd is not None and spent.at_most_usd >= limits.max_cost_usd:
            return False
        return limits.max_tokens is None or spent.usage.total + sum(one.max_tokens for one in lost) < limits.max_tokens

    def stoppables(self) -> Sequence[Stoppable]:
        return [*super().stoppables(), *([] if self._calls is None else self._calls.stoppables())]

    # --- from a task to the plan of a message batch -------------------------------------------------------------

    def start(self, task: Task, digest: str) -> None:
        loop = self._loop
        attempt = self._opened().state.history(task.id).attempts + 1
        active = self._active[task.id] = Active(task, attempt, digest)
        if not self._rests and loop.clock() - loop.pass_time > SLICE_S:
            self._rests = True
            loop.call_later(0.0, partial(setattr, self, "_rests", False))
        try:
            params = self._requests.params(task)
            self._gather(active, params)
        except (UsageError, UnavailableError) as error:
            is_usage = isinstance(error, UsageError)
            refused = NoReply(TaskStatus.USAGE if is_usage else TaskStatus.AUTHENTICATION, str(error))
            self._begin_attempt(active)
            self._opened().when_durable(partial(self._write_up, Flight("", None), 0, active, refused))
        except (OSError, FolderError) as error:
            self._on_failure(_why(error))

    def _gather(self, active: Active, params: dict[str, Any]) -> None:
        encoded = msgspec.json.encode(params)
        flight = self._gathered
        if flight is None or flight.file is None or not flight.file.has_room(active.task.id, encoded):
            self._plan()
            nonce = os.urandom(8).hex()
            flight = self._gathered = Flight(nonce, RequestFile(self._path(nonce), nonce))
            self._loop.call_later(self._pace.first_s, self._look_whether_all)
        assert flight.file is not None
        flight.file.add(active.task.id, encoded, str(params["model"]), int(params["max_tokens"]))
        flight.add(flight.file.count - 1, active)
        self._started_last = self._loop.clock()

    def _look_whether_all(self) -> None:
        if (wait := self._started_last + self._pace.first_s - self._loop.clock()) > 0:
            self._loop.call_later(wait, self._look_whether_all)
        else:
            self._plan()

    def _begin_attempt(self, active: Active) -> None:
        self._opened().started(active.task.id, active.attempt, active.digest)

    def _plan(self) -> None:
        """Writes the plan of what is gathered. Does nothing without tasks."""
        flight, self._gathered = self._gathered, None
        if flight is None or flight.file is None or self._is_stopping or self._is_lost:
            return
        try:
            flight.file.make_safe()
        except OSError as error:
            self._gathered = flight
            self._on_failure(_why(error))
            return
        journal = self._opened()
        for active in flight.left.values():
            self._begin_attempt(active)
        self._flights[flight.nonce] = flight
        requests = tuple(PlannedRequest(active.task.id, active.attempt) for active in flight.left.values())
        journal.append(BatchPlanned, nonce=flight.nonce, requests=requests)
        journal.when_durable(partial(self._planned, flight, len(requests)))

    def _planned(self, flight: Flight, count: int) -> None:
        flight.batch = MessageBatch(nonce=flight.nonce, count=count, planned=time.time(), due=self._loop.clock())
        for active in flight.left.values():
            self._tell(records.TaskStart(task=active.task.id, attempt=active.attempt, time=utc_now()))
        self._step()

    # --- calls ------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        """Makes the next call, if one is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_stopping or self._is_lost or (self._calls is not None and self._calls.is_busy):
            return
        waiting = [flight for flight in self._flights.values() if flight.batch and lifecycle.next_call(flight.batch)]
        if not waiting:
            return
        flight = min(waiting, key=_due)
        if (due := _due(flight)) > self._loop.clock():
            self._timer = self._loop.call_at(due, self._step)
        else:
            self._call(flight)

    def _call(self, flight: Flight) -> None:
        batch = flight.batch
        assert batch is not None
        call = lifecycle.next_call(batch)
        assert call is not None
        if self._calls is None:
            try:
                self._calls = ProviderCalls(self._loop, self._requests.find_access(_any(flight).task))
            except (UsageError, UnavailableError) as error:
                self._leave(str(error))
                return
        if call is Call.CREATE and flight.file is None:
            self._settle(flight, unsendable)
            return
        on_answer = partial(self._on_answer, flight, call, self._loop.clock())
        self._calls.ask(on_answer, call.value, **call_params(batch, call, flight.file))

    def _on_answer(self, flight: Flight, call: Call, asked: float, answer: Answer) -> None:
        if isinstance(answer, ResultLine):
            self._on_result(flight, answer)
            return
        before = flight.batch
        assert before is not None
        if isinstance(answer, Failure) and (why := out_of_reach(before, call, answer, flight.file)):
            self._leave(why)
            return
        others = [other.batch.id for other in self._flights.values() if other is not flight and other.batch]
        batch = flight.batch = state_after(
            before, call, answer, asked=asked, others=others, now=self._loop.clock(), pace=self._pace
        )
        if batch.id != before.id:
            self._opened().append(BatchCreated, nonce=batch.nonce, id=batch.id, expires=batch.expires)
            self._advise(sent_words(len(flight.left), len(self._tasks), batch.id, batch.phase.value, batch.expires))
        if batch.phase is not before.phase:
            self._log.info("message batch", nonce=batch.nonce, id=batch.id, phase=batch.phase.value)
        if batch.trouble and batch.trouble != before.trouble:
            self._log.warning("message batch", nonce=batch.nonce, id=batch.id, message=batch.trouble)
            if not (before.trouble or batch.is_over):
                self._advise(f"message batch {batch.id or 'not created yet'}: {batch.trouble}; tried again")
        if batch.phase is Phase.FETCHED:
            self._settle(flight, partial(missing, flight))
        elif batch.phase is Phase.LOST:
            self._settle(flight, partial(gone, flight, batch.id))
        elif batch.phase is Phase.REFUSED:
            failure = answer if isinstance(answer, Failure) else Failure("server", batch.trouble)
            self._settle(flight, partial(self._results.refused, flight, failure))
        self._step()

    # --- results ------------------------------------------------------------------------------------------------

    def _on_result(self, flight: Flight, answer: ResultLine) -> None:
        number = number_in(answer.custom_id, flight.nonce)
        active = flight.take(number)
        if active is not None and number is not None:
            self._write_up(flight, number, active, result_of(answer))
            if not flight.left:
                self._close(flight)

    def _settle(self, flight: Flight, result_for: Callable[[int], Result]) -> None:
        """Ends the attempts that are left, some in each pass of the loop, and then the message batch."""
        end = self._loop.clock() + SLICE_S
        while flight.left and self._loop.clock() < end and not self._is_lost:
            number = next(iter(flight.left))
            result = result_for(number)
            active = flight.take(number)
            assert active is not None
            self._write_up(flight, number, active, result)
        if self._is_stopping or self._is_lost:
            return
        if flight.left:
            self._loop.call_later(0.0, partial(self._settle, flight, result_for))
        else:
            self._close(flight)

    def _close(self, flight: Flight) -> None:
        """All its attempts have ended."""
        self._flights.pop(flight.nonce, None)
        self._opened().when_durable(partial(flight.close, remove=True))

    def _write_up(self, flight: Flight, number: int, active: Active, result: Result) -> None:
        try:
            lines, outcome = self._results.write(flight, number, active, result)
        except RunFilesError as error:
            self._on_failure(str(error))
            self._drop(active)
            return
        if self._on_event is not None and active.task.id not in self._foreign:
            for line in lines:
                self._on_event(active.task.id, active.attempt, line)
        self._finish(active, outcome)

    def _finished(self, active: Active, outcome: Outcome, *, final: bool) -> None:
        if active.task.id in self._foreign:
            del self._active[active.task.id]
        else:
            super()._finished(active, outcome, final=final)

    # --- the end ------------------------------------------------------------------------------------------------

    def hold_output(self, *, held: bool) -> None:
        if self._calls is not None:
            self._calls.hold(held=held)

    def stop(self, reason: str) -> None:
        self._leave("")
        super().stop(reason)

    def call_off(self, reason: str, task: str = "") -> None:  # noqa: ARG002  (nothing ends for it)
        """A request that was sent cannot be called off: its result is recorded when it comes."""
        if not task or task in self._active:
            self._notice("what is in message batches goes on at the provider; the results are recorded as they come")

    def stop_paused(self, longer_s: float, reason: str) -> None:
        """A message batch waits for the provider: it is not awaited any longer."""
        if self._flights:
            self._leave("")
        super().stop_paused(longer_s, reason)

    def kill(self, reason: str) -> None:
        self._leave("")
        super().kill(reason)

    def lose_journal(self) -> None:
        super().lose_journal()
        if self._calls is not None:
            self._calls.stop()

    def _leave(self, why: str) -> None:
        """Leaves the message batches to the provider; the next start takes them up. `why`: a failure; else empty."""
        if self._calls is not None:
            self._calls.stop()
        self._is_stopping = True
        ids = [
            flight.batch.id for flight in self._flights.values() if flight.batch and flight.batch.phase in AT_PROVIDER
        ]
        count = 0
        for flight in self._all:
            count += 0 if flight is self._gathered else len(flight.left)
            for active in flight.left.values():
                self._drop(active)
            flight.left.clear()
            flight.lost = type(flight.lost)()
            flight.close(remove=flight is self._gathered)
        self._flights.clear()
        self._gathered = None
        if count:
            where = f"message batch {', '.join(ids)}" if ids else "a message batch"
            because = f"{why}: " if why else ""
            self._notice(
                f"{because}{counted(count, 'task')} of {where} go on at the provider: the same command, or zot batch"
                f" retry {self._request.folder}, fetches the results"
            )


def _due(flight: Flight) -> float:
    assert flight.batch is not None
    return flight.batch.due


def _any(flight: Flight) -> Active:
    return next(iter(flight.left.values()))


def _why(error: OSError | FolderError) -> str:
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
