"""One process of a tortured extension: writes whole and broken frames to it, and knows the answers to each question."""

from __future__ import annotations

import signal
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from supervisor.harness.harness import QUIET_S
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.process.stop_policy import Patience
from supervisor.torture.steps import NotApplicableError, NotHeldError, Wait
from wire import frames
from wire.dialects.base import UnsendableError
from wire.dialects.table import find_dialect
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedLine, RecordedProcess
    from supervisor.torture.forms import Forms, JsonFrame, Key
    from supervisor.torture.probe import Probe
    from supervisor.torture.steps import Steps
    from wire.dialects.base import DialectSession, RunSession

END_S = 8.0
"""Seconds within which an extension ends at the end of its input: an SDK lets running calls end for 5 s."""
SLACK_S = 2.0
"""Seconds beyond the host's own patience, for a machine that has much to do."""
LEFT_S = 2.0
"""Seconds within which the processes of an extension that has ended are gone, too."""
SMALL_PIPE = 4096
SHOWN = 120


class Question(NamedTuple):
    """A question to the extension, as JSON and as bytes."""

    frame: JsonFrame
    data: bytes
    key: Key


class Player:
    """One process. `probe` is the usual question; None if the extension answers nothing. `answers_twice` says that it
    gives more than one answer without any fault, too."""

    def __init__(
        self,
        harness: Harness,
        process: RecordedProcess,
        forms: Forms,
        probe: Probe | None,
        answer_s: float,
        *,
        answers_twice: bool = False,
    ) -> None:
        self.process = process
        self.forms = forms
        self.answer_s = answer_s
        """Seconds for each answer."""
        self.probe = probe
        self.answers: Counter[Key] = Counter()
        """Number of answers to each question."""
        self.asked: list[Question] = []
        """The usual questions that were sent."""
        self.junk: list[str] = []
        """Lines after the handshake that are no frames."""
        self._answers_twice = answers_twice
        self._gate = _Gate(process)
        self._harness = harness
        self._numbers = 0

    # --- the extension's side -----------------------------------------------------------------------------

    def on_said(self, said: RecordedLine) -> None:
        """Takes a line of the extension."""
        if said.frame is None or isinstance(said.message, frames.Malformed):
            if self.process.phase.is_over and self.is_running:  # a killed process leaves half a line
                self.junk.append(one_line(said.text or str(said.frame), SHOWN))
            return
        key = self.forms.key_of_answer(said.frame)
        if key is not None:
            self.answers[key] += 1

    def failure(self, text: str) -> NotHeldError:
        """The error to raise if this process does not do what a good one does."""
        return NotHeldError(text, self.process)

    @property
    def is_running(self) -> bool:
        return self.process.is_running

    @property
    def how_it_ended(self) -> str:
        """The exit status, with the last words on stderr."""
        return f"{self.process.exit}{self.process.last_words}"

    @property
    def _session(self) -> DialectSession:
        return self.process.channel.session

    @property
    def capabilities(self) -> Sequence[str]:
        hello = self.process.hello
        return () if hello is None else hello.capabilities or ()

    # --- questions ----------------------------------------------------------------------------------------

    def question(
        self, text: str | None = None, *, run: RunSession | None = None, probe: Probe | None = None
    ) -> Question:
        """A new question with an id of its own, which is not sent. Raises `NotApplicableError`."""
        probe = probe or self.probe
        if probe is None:
            raise NotApplicableError("it has no tool, guard or command, and answers no ping")
        self._numbers += 1
        try:
            data = probe.question(self._session, f"q{self._numbers}", text, run)
        except UnsendableError as error:
            raise NotApplicableError(str(error)) from None
        if not data:
            raise NotApplicableError(f"its protocol has no question for {probe}")
        return self.packed(self.forms.unpack(data))

    def packed(self, frame: JsonFrame, *, escaped: bool = False) -> Question:
        """A question of this frame."""
        return Question(frame, self.forms.pack(frame, escaped=escaped), self.forms.key_of_question(frame))

    def write(self, data: bytes) -> None:
        """Sends bytes as they are. Does nothing if the process no longer reads: its end tells more."""
        self.process.requests.write(data)

    def write_slowly(self, data: bytes, sizes: Sequence[int], pause_s: float) -> Steps:
        """Sends bytes in pieces of these sizes, with a pause after each; the rest at once."""
        self._keep(data)
        start = 0
        for size in sizes:
            self._gate.send_part(data[start : start + size])
            start += size
            yield Wait(lambda: False, pause_s)
        self._gate.send_part(data[start:], is_last=True)

    def write_start(self, data: bytes) -> None:
        """Sends bytes that end within a frame. Until `write_rest`, frames of the session wait."""
        self._keep(data)
        self._gate.send_part(data)

    def write_rest(self, data: bytes) -> None:
        """Sends the rest of that frame."""
        self._keep(data)
        self._gate.send_part(data, is_last=True)

    def _keep(self, data: bytes) -> None:
        """Records bytes that go past the session, whole or not."""
        self.process.note_said(data)
        self.process.requests.black_box.add(self._harness.loop.clock(), True, data)

    def ask(self, text: str | None = None, *, run: RunSession | None = None) -> Question:
        """Sends a new question."""
        question = self.question(text, run=run)
        self.write(question.data)
        self.asked.append(question)
        return question

    def count(self, question: Question) -> int:
        return self.answers[question.key]

    def awaits(self, questions: Sequence[Question], after: str) -> Steps:
        """Waits for an answer to each, as long as there is one within `answer_s`. `after` says what was done: "after it
        was split"."""
        missing = len(questions) + 1
        while (left := sum(not self.count(question) for question in questions)) < missing:
            missing = left
            if not missing:
                return
            yield Wait(lambda: not self.is_running or all(map(self.count, questions)), self.answer_s)
        which = f"{missing} of {counted(len(questions), 'call')}" if len(questions) > 1 else "the call"
        if not self.is_running:
            raise self.failure(f"it ended {after} ({self.how_it_ended})")
        raise self.failure(f"{which} got no answer within {self.answer_s:g} s {after}")

    def works(self, after: str) -> Steps:
        """It answers one more question; if it answers none at all, it has not ended."""
        if self.probe is None:
            yield Wait(lambda: not self.is_running, QUIET_S)
            if not self.is_running:
                raise self.failure(f"it ended {after} ({self.how_it_ended})")
            return
        yield from self.awaits([self.ask()], after)

    def is_answered_once(self, questions: Sequence[Question]) -> None:
        """Raises `NotHeldError` for a question with more than one answer, unless that comes without any fault, too."""
        if not self._answers_twice and (surplus := self.surplus(questions)):
            raise self.failure(surplus)

    def surplus(self, questions: Sequence[Question]) -> str:
        """The number of questions with more than one answer, in words; empty without one."""
        twice = sum(self.count(question) > 1 for question in questions)
        return f"{counted(twice, 'call')} got more than one answer" if twice else ""

    # --- the host's side ----------------------------------------------------------------------------------

    def signal(self, number: signal.Signals) -> None:
        self.process.kill(number)

    def pids(self) -> list[int]:
        """The process, and all that it has started."""
        child = self.process.child
        assert child is not None
        return [child.pid, *self._harness.left_by(self.process)]

    def end_input(self) -> None:
        """Closes its stdin, behind all that was written."""
        child = self.process.child
        assert child is not None
        assert child.stdin is not None
        child.stdin.end()

    def close_output(self) -> None:
        """Closes the host's end of its stdout."""
        child = self.process.child
        assert child is not None
        child.stdout.close()

    def stop_reading(self) -> None:
        """Leaves its stdout unread, in a pipe as small as the kernel allows."""
        import fcntl

        child = self.process.child
        assert child is not None
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            try:
                fcntl.fcntl(child.stdout.fileno(), fcntl.F_SETPIPE_SZ, SMALL_PIPE)
            except OSError:
                pass  # more than that is in it
        self._harness.loop.watch(child.stdout)

    def read_on(self) -> None:
        child = self.process.child
        assert child is not None
        if child.stdout.is_open:
            self._harness.loop.watch(child.stdout, read=True)

    # --- its end ------------------------------------------------------------------------------------------

    def ends(self, seconds: float, after: str, *, status: int | None = None) -> Steps:
        """It ends by itself, leaves no process, and has this exit status, if one is given."""
        ended = yield Wait(lambda: not self.is_running, seconds)
        if not ended:
            raise self.failure(f"it still runs {seconds:g} s {after}")
        yield from self.leaves_nothing()
        code = self.process.exit.code if self.process.exit else 0
        if status is not None and code != status:
            raise self.failure(f"it ended with {self.how_it_ended} {after}, not with exit {status}")
        if code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE):
            raise self.failure(f"it crashed {after} ({self.how_it_ended})")

    def leaves_nothing(self) -> Steps:
        """All processes that it has started are gone."""
        left: Any = {}

        def is_alone() -> bool:
            nonlocal left
            left = self._harness.left_by(self.process)
            return not left

        if not (is_alone() or (yield Wait(is_alone, LEFT_S))):
            raise self.failure(f"it ended and left {counted(len(left), 'process', 'processes')}")

    def stops(self, *, exit_status: int | None = 0) -> Steps:
        """The host asks it to stop, as a run does: it ends before SIGTERM would come, and leaves no process."""
        if not self.is_running:
            raise self.failure(f"it ended by itself ({self.how_it_ended})")
        patience = self.process.patience
        ask_s = patience.ask + SLACK_S
        self.process.ask_to_stop()
        yield Wait(lambda: not self.is_running, patience.hint)
        if self.is_running:
            self.process.hint_to_stop()
        if self.is_running and not (yield Wait(lambda: not self.is_running, ask_s - patience.hint)):
            raise self.failure(f"it did not end within {ask_s:g} s of the request to stop")
        yield from self.leaves_nothing()
        code = self.process.exit.code if self.process.exit else 0
        if exit_status is not None and code != exit_status:
            raise self.failure(f"it ended with {self.how_it_ended} after the request to stop")

    def close(self) -> Steps:
        """Kills it, with all that it has started."""
        if self.is_running or self._harness.left_by(self.process):
            self.read_on()
            at_once = Patience(hint=0.0, ask=0.0, term=0.0)
            teardown = self._harness.teardown(self.process, patience=at_once)
            yield Wait(teardown.hurry, at_once.in_all + SLACK_S)
            if not teardown.is_over:
                teardown.cancel()
        if self.process in self._harness.processes:
            self._harness.processes.remove(self.process)

    @property
    def term_s(self) -> float:
        """Seconds within which SIGTERM ends it."""
        return find_dialect(self.process.found.manifest.dialect).term_s + SLACK_S

    def gets_ready(self) -> Steps:
        """Waits for the end of the handshake. Raises `NotHeldError` if it fails."""
        yield Wait(lambda: self.process.phase.is_over, self.process.handshake_s)
        if self.process.phase is HandshakePhase.FAILED or not self.process.phase.is_over:
            failure = self.process.failure or "it was not ready in time"
            raise self.failure(f"{failure}{self.process.last_words}")


class _Gate:
    """The input of a process. Holds back what its session sends in the middle of a frame that a fault has split."""

    def __init__(self, process: RecordedProcess) -> None:
        writer = process.requests.stdin
        assert writer is not None
        self._writer: Any = writer
        self._child = process.child
        self._held: list[bytes] = []
        self._is_open = True
        process.requests.stdin = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def send(self, data: bytes) -> bool:
        if self._is_open:
            return bool(self._writer.send(data))
        self._held.append(data)
        return True

    def send_part(self, data: bytes, *, is_last: bool = False) -> None:
        """Sends bytes that are recorded already. The gate is closed until the last part."""
        self._is_open = is_last
        if self._child is not None:
            self._child.send(data)
        if is_last:
            for held in self._held:
                self._writer.send(held)
            self._held.clear()
