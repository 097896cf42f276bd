"""Plays the host's part of a script. `play` compares the answers with the script, `record` only records them, and
`collect` finds the place of each answer in the script."""

from __future__ import annotations

import signal
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.discovery.discover import read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.extension.connection.handshake import no_hello
from supervisor.harness.comparison import differences
from supervisor.harness.messages import answer_to, hello_ack
from supervisor.harness.new_answers import segments
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.harness.result import ScriptFailure, ScriptResult
from supervisor.harness.script import FixtureError, Script, Side, lay
from supervisor.process.child import EXIT_FOLLOWS_S, SpawnError
from supervisor.process.stop_policy import Patience

if TYPE_CHECKING:
    from supervisor.harness.comparison import ScriptPaths
    from supervisor.harness.harness import Harness
    from supervisor.harness.messages import ExpectedAnswer
    from supervisor.harness.recorded_process import RecordedProcess
    from supervisor.harness.script import ScriptStep

HURRIED = Patience(hint=0.0, ask=0.5, term=0.5)
"""The patience with an extension that has failed already."""
WAIT_S = 10.0
"""Maximum of seconds to wait for each expected frame."""


class _FailedError(Exception):
    def __init__(self, failure: ScriptFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def find_extension(folder: str | Path) -> FoundExtension:
    """Returns the extension in a folder, as `--ext` finds it. Raises `ManifestError`."""
    path = Path(folder).expanduser().absolute()
    return FoundExtension(path, read_manifest(path), Scope.EXPLICIT)


def play(
    harness: Harness, found: FoundExtension, script: Script, *, cwd: Path | None = None, wait_s: float = WAIT_S
) -> ScriptResult:
    """Starts the extension, plays the script, and ends the process. Raises only `HarnessInterruptedError`."""
    return _ScriptRun(harness, found, script, cwd, wait_s).run(_Mode.COMPARE)


def record(
    harness: Harness, found: FoundExtension, script: Script, *, cwd: Path | None = None, wait_s: float = WAIT_S
) -> ScriptResult:
    """Says only the host's lines of the script and compares nothing. `result.recording` makes a script of it."""
    return _ScriptRun(harness, found, script, cwd, wait_s).run(_Mode.RECORD)


def collect(
    harness: Harness, found: FoundExtension, script: Script, *, cwd: Path | None = None, wait_s: float = WAIT_S
) -> ScriptResult:
    """Says the host's lines of the script, and waits after each for the answers. The result has them in `answers`, and
    a failure if the extension crashed or sent a line that no host takes."""
    return _ScriptRun(harness, found, script, cwd, wait_s).run(_Mode.COLLECT)


class _Mode(Enum):
    COMPARE = "compare"
    RECORD = "record"
    COLLECT = "collect"


class _ScriptRun:
    def __init__(
        self, harness: Harness, found: FoundExtension, script: Script, cwd: Path | None, wait_s: float
    ) -> None:
        self._harness = harness
        self._found = found
        self._script = script
        self._wait_s = wait_s
        self._places: ScriptPaths = harness.prepare(found, cwd)
        self._process: RecordedProcess | None = None
        self._taken = 0
        """Number of lines of `heard` that are already compared."""
        self._done = 0
        self._answers: list[tuple[dict[str, Any], ...]] = []

    @property
    def process(self) -> RecordedProcess:
        assert self._process is not None
        return self._process

    def run(self, mode: _Mode) -> ScriptResult:
        began = self._harness.loop.clock()
        failure: ScriptFailure | None = None
        try:
            try:
                lay(self._script.about.project, self._script.folder, Path(self._places.cwd))
                greets = not self._script.has_handshake
                self._process = self._harness.start(self._found, self._places, greets=greets, leaves_calls=True)
            except (SpawnError, FixtureError) as error:
                raise _FailedError(ScriptFailure(str(error))) from None
            except OSError as error:
                raise _FailedError(
                    ScriptFailure(f"project: {error.filename} cannot be written: {error.strerror}")
                ) from None
            if not self._script.has_handshake:
                self._shake_hands()
            if mode is _Mode.RECORD:
                self._record()
            elif mode is _Mode.COLLECT:
                self._collect()
            else:
                self._compare()
            self._end()
            if mode is _Mode.COMPARE:
                self._expect_no_more()
            elif mode is _Mode.COLLECT:
                self._take_answers()
        except _FailedError as error:
            failure = error.failure
            if self._process is not None and self._process in self._harness.processes:
                self._harness.end(self._process, HURRIED)
        ended = self._process
        return ScriptResult(
            script=self._script.name,
            steps=len(self._script.steps),
            done=self._done,
            failure=failure,
            said=tuple(ended.said) if ended else (),
            stderr=tuple(ended.stderr.lines()) if ended else (),
            exit=str(ended.exit) if ended and ended.exit else "",
            places=self._places,
            seconds=self._harness.loop.clock() - began,
            answers=tuple(self._answers),
        )

    def _shake_hands(self) -> None:
        process = self.process
        self._harness.wait(lambda: process.phase.is_over, process.handshake_s)
        if process.phase is HandshakePhase.FAILED:
            raise _FailedError(ScriptFailure(f"{process.failure}{process.last_words}"))
        self._taken = process.greeting

    # --- comparing ----------------------------------------------------------------------------------------

    def _compare(self) -> None:
        for step in self._script.steps:
            if step.side is Side.HOST:
                self._say(step)
            else:
                self._expect(step)
            self._done += 1

    def _say(self, step: ScriptStep) -> None:
        frame = self._places.fill(step.frame)
        if frame["type"] == "hello_ack":
            frame = hello_ack(self._places, frame)
        if not self.process.say(frame):
            self._harness.wait(lambda: not self.process.is_running, EXIT_FOLLOWS_S)
            raise _FailedError(ScriptFailure(self._gone() or "it does not read its stdin", step))

    def _expect(self, step: ScriptStep) -> None:
        expected = self._places.fill(step.frame)
        kind = expected["type"]
        wait_s = max(self._wait_s, self.process.hello_s) if kind == "hello" else self._wait_s
        if not self._harness.wait(
            lambda: self._has_said(kind) or not self.process.is_running or self.process.is_mute, wait_s
        ):
            raise _FailedError(ScriptFailure(f"expected {kind} within {wait_s:g} s, and it said nothing more", step))
        if not self._has_said(kind):
            self._harness.wait(lambda: not self.process.is_running, EXIT_FOLLOWS_S)
            raise _FailedError(
                ScriptFailure(f"expected {kind}, but {self._gone() or 'it has closed its stdout'}", step)
            )
        said = self.process.heard[self._taken]
        self._taken += 1
        if said.frame is None:
            raise _FailedError(
                ScriptFailure(f"expected {kind}, but it wrote a line that is no frame: {said.text}", step)
            )
        if found := differences(expected, said.frame):
            other = "" if any(difference.path == "type" for difference in found) else f"; this {kind} is different"
            raise _FailedError(
                ScriptFailure(
                    f"expected {kind}{other or ', and it said another frame'}", step, said.frame, tuple(found)
                )
            )
        if said.fault:
            raise _FailedError(ScriptFailure(f"no host takes this: {said.fault}", step, said.frame))

    def _has_said(self, kind: str) -> bool:
        """Whether there is a line to compare. Ignored types are skipped, unless `kind` is one of them."""
        heard = self.process.heard
        while self._taken < len(heard) and heard[self._taken].type in self._script.about.ignore:
            if heard[self._taken].type == kind:
                return True
            self._taken += 1
        return self._taken < len(heard)

    def _gone(self) -> str:
        return f"it has ended ({self.process.exit}){self.process.last_words}" if not self.process.is_running else ""

    # --- recording ----------------------------------------------------------------------------------------

    def _record(self) -> None:
        for step in self._script.steps:
            if step.side is Side.HOST:
                self._say_when_quiet(step)
            self._done += 1

    def _say_when_quiet(self, step: ScriptStep) -> None:
        kind = step.frame["type"]
        process = self.process
        if kind == "hello_ack":
            if not self._harness.wait(lambda: bool(process.heard) or not process.is_running, process.hello_s):
                raise _FailedError(ScriptFailure(no_hello(process.hello_s), step))
            self._say(step)
            self._harness.until_quiet(process, self._wait_s)
            return
        before = len(process.heard)
        self._say(step)
        if kind == "shutdown":
            return
        if (answer := answer_to(self._places.fill(step.frame))) is None:
            self._harness.until_quiet(process, self._wait_s)
            return

        def waits() -> bool:
            """Whether it waits for the next line of the host itself."""
            return any(line.type == "call_tool" for line in process.heard[before:])

        def is_done() -> bool:
            return _has_answer(process, before, answer) or waits() or not process.is_running

        if not self._harness.wait(is_done, self._wait_s):
            raise _FailedError(ScriptFailure(f"no {answer.type} within {self._wait_s:g} s", step))
        if waits():
            self._harness.until_quiet(process, self._wait_s)
        elif not _has_answer(process, before, answer):
            raise _FailedError(ScriptFailure(self._gone(), step))

    # --- collecting ---------------------------------------------------------------------------------------

    def _collect(self) -> None:
        parts = segments(self._script)
        for index, steps in enumerate(parts):
            if index:
                self._take_answers()
            for step in steps:
                if step.side is Side.HOST:
                    self._say(step)
            later = [step for part in parts[index + 1 :] for step in part if step.side is Side.EXTENSION]
            self._await_answers(steps, later)
            self._done += len(steps)

    def _await_answers(self, steps: list[ScriptStep], later: list[ScriptStep]) -> None:
        """Waits for the answers to the requests among these steps, but for those that the script expects later, then
        for the other frames that the script expects here, and then until the extension is quiet."""
        process = self.process
        since = self._taken
        asked = [self._places.fill(step.frame) for step in steps if step.side is Side.HOST]
        if any(frame["type"] == "shutdown" for frame in asked):
            return
        expected = [self._places.fill(step.frame) for step in steps if step.side is Side.EXTENSION]
        late = [self._places.fill(step.frame) for step in later]
        due = [answer for frame in asked if (answer := answer_to(frame)) and not any(map(answer.is_in, late))]
        wait_s = (
            max(self._wait_s, process.hello_s) if any(frame["type"] == "hello" for frame in expected) else self._wait_s
        )
        self._harness.wait(
            lambda: not process.is_running or all(_has_answer(process, since, answer) for answer in due), wait_s
        )
        for answer in due:
            if not _has_answer(process, since, answer):
                reason = self._gone() or f"no {answer.type} within {wait_s:g} s{_open_call(process)}"
                raise _FailedError(ScriptFailure(reason, steps[0]))
        kinds = Counter(frame["type"] for frame in expected)
        self._harness.wait(
            lambda: not process.is_running or kinds <= Counter(line.type for line in process.heard[since:]), wait_s
        )
        self._harness.until_quiet(process, self._wait_s)

    def _take_answers(self) -> None:
        """Takes what the extension has said since the last time as one item of the answers."""
        taken: list[dict[str, Any]] = []
        for said in self.process.heard[self._taken :]:
            if said.frame is None:
                raise _FailedError(ScriptFailure(f"it wrote a line that is no frame: {said.text}"))
            if said.fault and said.type not in self._script.about.ignore:
                raise _FailedError(ScriptFailure(f"no host takes this: {said.fault}", None, said.frame))
            taken.append(said.frame)
        self._taken = len(self.process.heard)
        self._answers.append(tuple(taken))

    # --- the end ------------------------------------------------------------------------------------------

    def _end(self) -> None:
        process = self.process
        self._harness.end(process)
        if self._harness.is_interrupted:
            self._harness.wait(lambda: True, 0)
        if late := exit_fault(process, self._script.about.exit):
            raise _FailedError(ScriptFailure(late))

    def _expect_no_more(self) -> None:
        """Fails if the extension said more than the script expects. A `shutdown_ack` is allowed if the script has no
        shutdown, and any frame if the script has only lines of the host."""
        spare = {*self._script.about.ignore, *(() if self._script.has_shutdown else ("shutdown_ack",))}
        expects = any(step.side is Side.EXTENSION for step in self._script.steps)
        for said in self.process.heard[self._taken :]:
            if said.frame is None:
                raise _FailedError(ScriptFailure(f"it wrote a line that is no frame: {said.text}"))
            if expects and said.type not in spare:
                raise _FailedError(ScriptFailure("it said more than the script expects", None, said.frame))


def _has_answer(process: RecordedProcess, since: int, answer: ExpectedAnswer) -> bool:
    return any(line.frame is not None and answer.is_in(line.frame) for line in process.heard[since:])


def _open_call(process: RecordedProcess) -> str:
    """Says which call of a tool the extension waits for; empty if for none."""
    calls = {str(line.frame.get("id")): line.frame for line in process.heard if line.frame and line.type == "call_tool"}
    for line in process.said:
        if line.frame is not None and (line.side, line.type) == (Side.HOST, "tool_result"):
            calls.pop(str(line.frame.get("id")), None)
    name = next((frame.get("name") for frame in calls.values()), None)
    return "" if name is None else f": it has called {name}, and the script has no tool_result of the host"


def exit_fault(process: RecordedProcess, expected: int = 0) -> str:
    """Returns the fault in the end of the process; empty without a fault."""
    status = process.exit
    if status is None:
        return "it could not be ended"
    if process.asked_at is None:
        return f"it ended ({status}) before it was asked to"
    if status.code in (-signal.SIGTERM, -signal.SIGKILL):
        return f"it did not end within {Patience().ask:g} s of the shutdown, nor when its stdin was closed ({status})"
    return "" if status.code == expected else f"after the shutdown it ended with {status}, not {expected}"
