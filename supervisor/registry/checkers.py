"""The checker processes: they check arguments against schemas that are not plainly cheap, so that the loop does not
wait.

A check that takes too long, or too much memory, is stopped, and the next one gets another process. An extension has one
check at a time, so an extension with a hostile schema leaves a process for the others.
"""

from __future__ import annotations

import signal
import sys
from collections import deque
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.environment import child_environment
from supervisor.loop.future import Failure, Pending
from supervisor.process.child import Child, SpawnError
from supervisor.process.exit_cause import StderrTail
from wire.framing import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import ExitStatus
    from supervisor.process.teardown import Stoppable
    from supervisor.registry.registration import Tool

PROGRAM = (sys.executable, "-P", str(Path(__file__).with_name("checker_main.py")))
"""Not -I: the checker's library may lie in the user's own folder of packages, which -I leaves out."""
CHECKERS = 2
"""Maximum number of processes at the same time. The second one starts when two extensions need a check at once."""
START_S = 30.0
"""Maximum of seconds until a checker is ready."""
ANSWER_S = 5.0
"""Maximum of seconds for one check. The kernel ends a checker after one second of processor time; this limit is for a
busy machine, or a checker that hangs."""
BROKEN_OFF_LIMIT = 5
"""Maximum number of schemas of one extension whose checks are stopped early; after that no schema of this extension is
checked here. So an extension that keeps registering new schemas costs these seconds only once."""
REQUEST_LIMIT = 64 * 1024 * 1024
"""Maximum of bytes that wait for one checker."""
ANSWER_LIMIT = 64 * 1024
"""Maximum of an answer in bytes."""


class _Answer(msgspec.Struct):
    """A line of a checker: it is ready, or the faults of some arguments, or why it cannot check them."""

    ready: bool = False
    fault: str | None = None
    trouble: str = ""


_read_answer = msgspec.json.Decoder(_Answer).decode


class _Check(msgspec.Struct, eq=False):
    """Arguments to check. `pending` gets their faults, "" for none; or fails with the reason why they are not
    checked."""

    extension: str
    schema: bytes
    args: bytes
    pending: Pending


class _Phase(Enum):
    STARTING = "starting"
    IDLE = "idle"
    CHECKING = "checking"
    LOST = "lost"
    """It is killed."""
    ENDED = "ended"


class _Checker:
    """One process. Raises `SpawnError`. `on_change` is called when it can take a check, once when it is lost, and once
    more when its process has ended."""

    def __init__(self, loop: Loop, argv: Sequence[str], on_change: Callable[[_Checker], None]) -> None:
        self.phase = _Phase.STARTING
        self.was_up = False
        self.current: _Check | None = None
        self.why_lost = ""
        self._loop = loop
        self._on_change = on_change
        self._splitter = LineSplitter(ANSWER_LIMIT)
        self._stderr = StderrTail()
        self.child = Child(
            loop,
            argv,
            cwd="/",
            env=child_environment(),
            on_stdout=self._on_stdout,
            on_stderr=self._stderr.write,
            on_exit=self._on_exit,
            outbox_limit=REQUEST_LIMIT,
        )
        self._timer = self._limit(START_S, f"its process is not up after {START_S:g} s")

    def begin(self, check: _Check) -> None:
        self.phase, self.current = _Phase.CHECKING, check
        self._timer = self._limit(ANSWER_S, f"a check takes more than {ANSWER_S:g} s")
        if not self.child.send(b"%d %d\n" % (len(check.schema), len(check.args)) + check.schema + check.args):
            self.lose("they are too large to be checked")

    def lose(self, reason: str) -> None:
        """Ends the process at once: it has nothing to lose."""
        self._timer.cancel()
        self.child.kill_group(signal.SIGKILL)
        if self.phase is not _Phase.LOST:
            self.why_lost = reason
            self._enter(_Phase.LOST)

    def ask_to_stop(self) -> None:
        self.lose("the host stops")

    def hint_to_stop(self) -> None:
        pass  # it is killed already

    def _limit(self, seconds: float, reason: str) -> Timer:
        return self._loop.call_later(seconds, lambda: self.lose(reason))

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            try:
                answer = _read_answer(line)  # type: ignore[arg-type]
            except (msgspec.DecodeError, TypeError):
                answer = _Answer()
            if self.phase is _Phase.STARTING and answer.ready:
                self._timer.cancel()
                self.was_up = True
                self._enter(_Phase.IDLE)
            elif self.phase is _Phase.CHECKING and (answer.fault is not None or answer.trouble):
                self._timer.cancel()
                check, self.current = self.current, None
                assert check is not None
                if answer.trouble:
                    check.pending.fail(Failure.BAD_ANSWER, answer.trouble)
                else:
                    check.pending.answer(answer.fault)
                self._enter(_Phase.IDLE)
            else:
                self.lose("the checker's answer is no answer")

    def _enter(self, phase: _Phase) -> None:
        self.phase = phase
        self._on_change(self)

    def _on_exit(self, status: ExitStatus) -> None:
        if status.code == -signal.SIGPROF:
            reason = "a check takes more than a second of processor time"
        elif status.code in (-signal.SIGABRT, -signal.SIGSEGV):
            reason = "a check of them takes too much memory"
        else:
            said = self._stderr.last_line()
            reason = f"its process ended ({status})" + (said and f": {said}")
        self.lose(reason)
        self._enter(_Phase.ENDED)


class Checkers:
    """The checkers of one host. None is started before `prepare_for` or the first check."""

    def __init__(self, loop: Loop, argv: Sequence[str] = PROGRAM) -> None:
        self._loop = loop
        self._argv = argv
        self._checkers: list[_Checker] = []
        """The checkers whose process has not ended."""
        self._waiting: dict[str, deque[_Check]] = {}
        """The waiting checks by extension. The extension that was served last is the last."""
        self._broken_off: dict[str, dict[int, str]] = {}
        """By extension: hashes of the schemas whose checks were stopped, each with the reason."""
        self._is_prepared = False
        self._is_stopped = False

    def prepare_for(self, tools: Mapping[str, Tool]) -> None:
        """Starts a checker if one of the tools needs the first one, so that its first call need not wait for it."""
        if not self._is_prepared and not self._checkers and any(not tool.plain_parts for tool in tools.values()):
            self._is_prepared = True
            self._start()

    def check(self, extension: str, schema: bytes, args: bytes) -> Pending:
        """Checks arguments against a schema; both are JSON. The answer is the text about their faults, "" for none. The
        check fails if it is broken off, was broken off before, or if no checker can be started; the reason says why."""
        check = _Check(extension, schema, args, Pending(asked_at=self._loop.clock()))
        if self._is_stopped:
            check.pending.fail(Failure.CANCELLED, "the host stops")
        elif reason := self._why_not(check):
            check.pending.fail(Failure.TIMEOUT, reason)
        else:
            self._waiting.setdefault(extension, deque()).append(check)
            self._serve()
        return check.pending

    def _why_not(self, check: _Check) -> str:
        """Why no checker gets this check; "" if one does."""
        broken_off = self._broken_off.get(check.extension, {})
        if hash(check.schema) not in broken_off and len(broken_off) >= BROKEN_OFF_LIMIT:
            return f"the checks of {BROKEN_OFF_LIMIT} of its schemas had to be stopped"
        return broken_off.get(hash(check.schema), "")

    def cancel_pending(self, reason: str) -> None:
        """Fails all open checks. Checks under way go on: if one is stopped later, its schema is remembered."""
        waiting, self._waiting = self._waiting, {}
        checks = [check for queue in waiting.values() for check in queue]
        for check in [*checks, *(checker.current for checker in self._checkers if checker.current is not None)]:
            check.pending.fail(Failure.CANCELLED, reason)

    def stoppables(self) -> Sequence[Stoppable]:
        """Called once, when the host stops: the checkers that run. No other checker is started."""
        self._is_stopped = True
        self.cancel_pending("the host stops")
        return list(self._checkers)

    def _serve(self) -> None:
        """Gives waiting checks to idle checkers, the extensions in turn. Starts one if none is idle or starting."""
        busy = {checker.current.extension for checker in self._checkers if checker.current is not None}
        for extension in [name for name in self._waiting if name not in busy]:
            idle = next((checker for checker in self._checkers if checker.phase is _Phase.IDLE), None)
            if idle is None:
                phases = [checker.phase for checker in self._checkers if checker.phase is not _Phase.LOST]
                if _Phase.STARTING not in phases and len(phases) < CHECKERS:
                    self._start()
                return
            if (check := self._next_of(extension)) is not None:
                idle.begin(check)

    def _next_of(self, extension: str) -> _Check | None:
        """The next check of this extension that is still wanted; the extension is then the last one that waits."""
        queue = self._waiting.pop(extension)
        while queue:
            check = queue.popleft()
            if reason := self._why_not(check):
                check.pending.fail(Failure.TIMEOUT, reason)
            elif not check.pending.done:
                if queue:
                    self._waiting[extension] = queue
                return check
        return None

    def _start(self) -> None:
        try:
            self._checkers.append(_Checker(self._loop, self._argv, self._on_change))
        except SpawnError as error:
            self._cannot_start(str(error))

    def _cannot_start(self, reason: str) -> None:
        """Fails waiting checks, unless another checker can serve them. The next check tries again to start one."""
        if not any(checker.phase in (_Phase.IDLE, _Phase.CHECKING) for checker in self._checkers):
            waiting, self._waiting = self._waiting, {}
            for check in (check for queue in waiting.values() for check in queue):
                check.pending.fail(Failure.DIED, reason)

    def _on_change(self, checker: _Checker) -> None:
        if checker.phase is _Phase.ENDED:
            self._checkers.remove(checker)
        elif checker.phase is _Phase.LOST and not checker.was_up:
            self._cannot_start(checker.why_lost)
        else:
            check, checker.current = checker.current, None
            if check is not None:  # it was lost
                self._broken_off.setdefault(check.extension, {})[hash(check.schema)] = checker.why_lost
                check.pending.fail(Failure.TIMEOUT, checker.why_lost)
            if not self._is_stopped:
                self._serve()
