"""The batch's handle of one run: its process, its link, its event stream, its limits, and how it ended.

The run is told to end by `abort`; if it does not, its whole tree is killed. When its process has ended in any other way
than it should, what it has left is ended before the outcome is told: no process of an attempt outlives it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from agent.batch.journal.folder import RunFiles, RunFilesError
from agent.batch.log import utc_now
from agent.batch.pool.patience import Patience
from agent.batch.pool.processes import kill_tree
from agent.batch.pool.run_facts import Ending, EndReason, RunClock, RunFacts, outcome_of
from agent.batch.pool.run_link import RunLink
from agent.batch.request import RunState, RunView
from supervisor.cleanup.kill_leftovers import TERM_S, HostMarks, LeftoverKiller
from supervisor.process.child import SpawnError
from wire.batch import link
from wire.batch.outcome import TaskStatus
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent.batch.pool.processes import Launch, RunChild, RunMemory
    from agent.batch.pool.run_order import RunOrder
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import ExitStatus
    from supervisor.process.table import Identity
    from wire.batch.outcome import Outcome

BEGIN_S = 120.0
"""Seconds from the start of the process until the run has said what it does."""
ABORT_S = 15.0
"""Seconds that a run has to end when it is told to: it stops its extensions, for 7 s at most, and writes its diff."""
EXIT_S = 15.0
"""Seconds from the last word of a run, or the end of its link, to the end of its process."""


class RunLife(Enum):
    """The state of a `RunProcess`."""

    NEW = "new"
    ALIVE = "alive"
    """Its process runs, or is about to."""
    SWEEPING = "sweeping"
    """Its process has ended; what it has left is being ended."""
    OVER = "over"


class RunListener(Protocol):
    """Whom a run tells what happens. All methods are called from the loop."""

    def run_said(self, run: RunProcess, line: bytes) -> None:
        """A line of the event stream, LF included."""

    def run_asked(self, run: RunProcess, request: link.ModelRequest) -> None: ...
    def run_cancelled(self, run: RunProcess) -> None:
        """The run wants no reply to its request, if it has one; or it has ended."""

    def run_is_behind(self, run: RunProcess, is_behind: bool) -> None:
        """The run does not read what it is sent as fast as it comes; or it has caught up."""

    def run_has_no_files(self, run: RunProcess, reason: str) -> None:
        """The files of the run cannot be written. The run is aborted, or does not begin."""

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:
        """Once. No process of the run is left."""


class RunProcess:
    """One attempt. Call `start` once; then `run_ended` is called once."""

    def __init__(
        self,
        loop: Loop,
        order: RunOrder,
        listener: RunListener,
        *,
        launch: Launch,
        memory_of: Callable[[RunChild], RunMemory | None],
        spared: Callable[[], Iterable[int]] = tuple,
        kill_tree: Callable[[RunChild], set[Identity]] = kill_tree,
        node: str = "",
    ) -> None:
        """`spared` gives the pids that bear the same marks and are not the run's. `node`: see `RunView`."""
        self.order = order
        self.life = RunLife.NEW
        self.child: RunChild | None = None
        self.facts = RunFacts()
        self.requests = 0
        """To the model, so far."""
        self._free = 0
        """Requests to the model that cost nothing: never sent, or refused."""
        self.why_paused = ""
        self.never_began = False
        """Whether its process could not be started."""
        self.memory: RunMemory | None = None
        self._loop = loop
        self._listener = listener
        self._launch = launch
        self._memory_of = memory_of
        self._spared = spared
        self._kill_tree = kill_tree
        self._node = node
        self._doing = RunState.STARTING
        self._is_stopping = False
        self._clock = RunClock(loop.clock())
        self._started = ""
        self._link: RunLink | None = None
        self._files: RunFiles | None = None
        self._end_reason: EndReason | None = None
        self.said: link.RunEnded | None = None
        self._exit: ExitStatus | None = None
        self._leader: Identity | None = None
        """Its process, once it has spoken: what has not spoken has started nothing."""
        self._others: set[Identity] = set()  # descendants that were seen when the run was killed
        self._timeout: Timer | None = None
        self._patience = Patience(loop)
        self._told: TaskStatus | None = None
        """Why the run was told to end."""

    # --- what it does ---------------------------------------------------------------------------------------

    @property
    def task(self) -> str:
        return self.order.attempt.task

    @property
    def name(self) -> str:  # on its link: unique in the batch
        return self.order.begin.run

    @property
    def attempt(self) -> int:
        return self.order.attempt.number

    @property
    def state(self) -> RunState:
        if self._is_stopping or self.life is RunLife.SWEEPING:
            return RunState.STOPPING
        return RunState.PAUSED if self._clock.is_paused else self._doing

    def view(self) -> RunView:
        return RunView(
            task=self.task,
            attempt=self.attempt,
            state=self.state,
            since_s=self._clock.passed_s(self._loop.clock()),
            step=self.facts.step,
            usage=self.facts.usage,
            cost_usd=None if self.facts.has_unknown_cost else self.facts.known_usd,
            memory_bytes=0 if self.memory is None else self.memory.now,
            why_paused=self.why_paused,
            node=self._node,
        )

    # --- start ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the process. Whatever fails becomes an outcome, from the loop."""
        order, loop = self.order, self._loop
        self._clock = RunClock(loop.clock())
        self._started = utc_now()
        self.life = RunLife.ALIVE
        try:
            self._files = files = RunFiles(order.events, order.stderr)
        except RunFilesError as error:
            reason = str(error)
            loop.call_later(0, lambda: self._lose_files(reason))
            loop.call_later(0, self._finish)
            return
        try:
            self._link = RunLink(
                loop, on_line=self._on_line, on_end=self._on_link_end,
                on_pace=lambda is_behind: self._listener.run_is_behind(self, is_behind),
            )  # fmt: skip
            self.child = self._launch(
                link=self._link.theirs.fileno(),
                stderr=files.stderr,
                on_stdout=self._on_stdout,
                on_exit=self._on_exit,
                on_failed=self._on_failed,
            )
        except OSError as error:
            failed = error if isinstance(error, SpawnError) else SpawnError(f"cannot start the run: {error.strerror}")
            loop.call_later(0, lambda: self._on_failed(failed))
            return
        finally:
            files.close_stderr()
            if self._link is not None:
                self._link.give()
        self.memory = self._memory_of(self.child)
        self._link.send(link.encode(order.begin))
        self._arm_timeout()
        self._await(BEGIN_S, f"the run did not begin within {BEGIN_S:.0f} s")

    def _lose_files(self, reason: str) -> None:
        """Whatever the run says of its end now: its result may be in what is missing."""
        self._listener.run_has_no_files(self, reason)
        self.abort(TaskStatus.INTERRUPTED, reason)
        self._end_reason = self._end_reason or EndReason(TaskStatus.INTERRUPTED, reason)

    # --- while it runs --------------------------------------------------------------------------------------

    def request_was_free(self) -> None:  # its last request has ended and has cost nothing
        self._free += 1

    def request_was_lost(self) -> None:
        """Its request was sent without an answer, and is sent again: as another one."""
        self.requests += 1

    def send(self, line: bytes) -> bool:
        """Sends a line of a model worker. Returns False if the run has gone."""
        return self._link is not None and self._link.send(line)

    def hold_output(self, *, held: bool) -> None:
        """Whether its event stream is not read: then the run waits once the pipe is full."""
        if self.child is not None and self.life is RunLife.ALIVE:
            self.child.stdout.hold(held=held)

    def pause(self, why: str) -> bool:
        """The run waits for a rate limit: its time stands still. Returns whether it was not paused before."""
        was_paused, self.why_paused = self._clock.is_paused, why
        if was_paused or self.life is not RunLife.ALIVE:
            return False
        self._clock.pause(self._loop.clock())
        if self._timeout is not None:
            self._timeout.cancel()
        return True

    def paused_for_s(self) -> float:
        """Seconds since the pause that goes on has begun; 0 if the run is not paused."""
        return self._clock.pause_s(self._loop.clock())

    def resume(self) -> bool:
        """Returns whether the run was paused."""
        if not self._clock.is_paused:
            return False
        self.why_paused = ""
        self._clock.resume(self._loop.clock())
        self._arm_timeout()
        return True

    def _arm_timeout(self) -> None:
        limit = self.order.timeout_s
        if limit is not None and not self._is_stopping and self.life is RunLife.ALIVE:
            left_s = max(0.0, self._clock.left_s(limit, self._loop.clock()))
            self._timeout = self._loop.call_later(left_s, self._on_timeout)

    def _on_timeout(self) -> None:
        self.abort(TaskStatus.TIMEOUT, f"timeout: the task took longer than {self.order.timeout_s:g} s")

    def _on_stdout(self, chunk: bytes) -> None:
        if self._files is None:
            return
        try:
            lines = self._files.write(chunk)
        except RunFilesError as error:
            self._lose_files(str(error))
            return
        for line in lines:
            self.facts.take(line)
            self._listener.run_said(self, line)

    def _on_line(self, line: bytes) -> None:
        if self.child is not None:
            self._leader = self.child.identity  # the identity of a fork is unreadable once it has ended
            self.child.stdout.take()  # of a killed batch the events have the turn of each request that was sent
        try:
            message = link.decode_from_run(line)
        except UNREADABLE as error:
            self.kill(EndReason(TaskStatus.CRASHED, f"the run has said something that cannot be read: {error}"))
            return
        if isinstance(message, link.ModelRequest):
            self.facts.request = message
            self.requests += 1
            self._listener.run_asked(self, message)
        elif isinstance(message, link.Cancel):
            self._listener.run_cancelled(self)
        elif isinstance(message, link.RunPhase):
            self._enter(RunState(message.state))
        elif isinstance(message, link.RunSpans) and self.order.on_spans is not None:
            self.order.on_spans(line)
        elif isinstance(message, link.RunEnded):
            self.said = message
            self._await(EXIT_S, f"its process did not end within {EXIT_S:.0f} s after its result")

    def _enter(self, state: RunState) -> None:
        self._doing = state
        if state is RunState.SCORE and self._timeout is not None:
            self._timeout.cancel()
        if state is RunState.SCORE and self._told is TaskStatus.TIMEOUT and self._end_reason is None:
            self._is_stopping, self._told = False, None  # it has ended in time
        if not self._is_stopping:
            self._patience.end()

    def _on_link_end(self, reason: str) -> None:
        if self.life is RunLife.ALIVE and self.said is None:
            self._await(EXIT_S, f"the run has closed its link{reason and f' ({reason})'} and did not end")

    # --- the end --------------------------------------------------------------------------------------------

    def abort(self, status: TaskStatus, reason: str) -> None:
        """Tells the run to end now. If it does not, it is killed and gets this status. Only the first call counts, but
        a run whose time is over can be interrupted: it may be about to score itself."""
        is_told = self._told in (status, TaskStatus.INTERRUPTED)
        if is_told or self._end_reason is not None or self.life is not RunLife.ALIVE or self.said is not None:
            return
        self._is_stopping, self._told = True, status
        self.resume()
        if self._timeout is not None:
            self._timeout.cancel()
        if self._link is not None:
            self._link.send(link.encode(link.Abort(status.value, reason)))
        words = f"{reason}; it did not end within {ABORT_S:.0f} s and was killed"
        self._patience.wait(ABORT_S, lambda: self.kill(EndReason(status, words)))

    def kill(self, end_reason: EndReason) -> None:
        """Kills the whole tree now. Of several reasons the first one counts."""
        if self.life is not RunLife.ALIVE:
            return
        self._is_stopping = True
        self._end_reason = self._end_reason or end_reason
        self._patience.end()
        if self.child is not None:
            self._others |= self._kill_tree(self.child)

    def _await(self, seconds: float, failure: str) -> None:
        """Kills the run after so many seconds. One that has said how it ended keeps that."""

        def give_up() -> None:
            said = self.said
            self.kill(EndReason(TaskStatus.CRASHED, failure) if said is None else EndReason(said.status, said.reason))

        self._patience.wait(seconds, give_up)

    def _on_failed(self, error: SpawnError) -> None:
        self.never_began = True
        status = TaskStatus.CRASHED if error.may_pass else TaskStatus.ERROR
        self._end_reason = self._end_reason or EndReason(status, str(error))
        self._finish()

    def _on_exit(self, exit_status: ExitStatus) -> None:
        self._exit = exit_status
        if self._link is not None:
            self._link.drain()
        self._patience.end()
        if self._node or (self.said is not None and self._end_reason is None and exit_status.code >= 0):
            self._finish()  # a node has ended the processes itself, or is gone
            return
        self.life = RunLife.SWEEPING
        leaders = frozenset() if self._leader is None else frozenset({self._leader})
        marks = HostMarks(self.order.begin.token, leaders=leaders, others=frozenset(self._others))
        term_s = 0.0 if self._end_reason is not None else TERM_S
        self._sweep(LeftoverKiller(marks, self._loop.clock, spared=self._spared(), term_s=term_s))

    def _sweep(self, killer: LeftoverKiller) -> None:
        try:
            delay = killer.step()
        except OSError:  # no descriptor is left to look with: another run gives one back
            delay = 0.1
        if delay is None:
            self._finish()
        else:
            self._loop.call_later(delay, lambda: self._sweep(killer))

    def _finish(self) -> None:
        if self.life is RunLife.OVER:
            return
        self.life = RunLife.OVER
        now = self._loop.clock()
        self.resume()
        self._listener.run_cancelled(self)
        for _ in range(self.requests - self._free - self.facts.answered):
            self.facts.lose(None)
        self._patience.end()
        if self._timeout is not None:
            self._timeout.cancel()
        if self._link is not None:
            self._link.close()
        files, self._files = self._files, None
        if files is not None:
            files.close()
        ending = Ending(
            end_reason=self._end_reason,
            exit=self._exit,
            said=self.said,
            was_told_to_end=self._is_stopping,
            last_words=() if files is None or self.said is not None else files.last_words(),
            started=self._started,
            ended=utc_now(),
            duration_s=self._clock.passed_s(now),
            paused_s=self._clock.paused_s(now),
            requests=self.requests,
            memory_peak=0 if self.memory is None else self.memory.peak,
        )
        self._listener.run_ended(self, outcome_of(self.order.attempt, self.facts, ending))
