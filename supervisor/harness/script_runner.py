"""Plays the host's part of a script and compares what the extension says with the script, or writes it down."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.discovery.discover import Found, Scope, read_manifest
from supervisor.harness.handshake import Handshake, Phase
from supervisor.harness.harness import Harness
from supervisor.harness.matching import differences
from supervisor.harness.messages import answer_to, hello_ack
from supervisor.harness.result import Failure, Outcome
from supervisor.harness.script import Script, Side, write_line
from supervisor.process.child import EXIT_FOLLOWS_S, SpawnError
from supervisor.process.stop_policy import Patience

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.harness.matching import Places
    from supervisor.harness.messages import Answer
    from supervisor.harness.recorded_process import RecordedProcess, Said
    from supervisor.harness.script import Step
    from supervisor.home.config import Config

WAIT_S = 10.0
"""For each thing that the extension is to say."""
QUIET_S = 0.25
"""A recording goes on to the next line of the host's when nothing has been said for so long, where no answer is due."""


class _FailedError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def found_in(folder: str | Path) -> Found:
    """The extension in a folder, as if it was named with `--ext`. Raises `ManifestError`."""
    path = Path(folder).expanduser().absolute()
    return Found(path, read_manifest(path), Scope.EXPLICIT)


def run_script(
    folder: str | Path,
    script: Script,
    *,
    cwd: Path | None = None,
    wait_s: float = WAIT_S,
    config: Config | None = None,
) -> Outcome:
    """One script in a room of its own. Raises `ManifestError`."""
    found = found_in(folder)
    with Harness(config=config) as room:
        return play(room, found, script, cwd=cwd, wait_s=wait_s)


def play(room: Harness, found: Found, script: Script, *, cwd: Path | None = None, wait_s: float = WAIT_S) -> Outcome:
    """Starts the extension, plays the script with it, and ends it. Raises `InterruptedRehearsalError` only."""
    return _Rehearsal(room, found, script, cwd, wait_s).run(listening=False)


def record(room: Harness, found: Found, script: Script, *, cwd: Path | None = None, wait_s: float = WAIT_S) -> Outcome:
    """Says the script's host lines only, and lets the extension say what it likes: `recording` makes a script of it."""
    return _Rehearsal(room, found, script, cwd, wait_s).run(listening=True)


def recording(outcome: Outcome) -> bytes:
    """The conversation as a script."""
    return recording_of(outcome.said, outcome.places)


def recording_of(conversation: Sequence[Said], places: Places) -> bytes:
    """A conversation as a script. The answer to the hello stands right after it, however fast the extension went on:
    so the same conversation is always the same recording."""
    said = [one for one in conversation if one.frame is not None]
    ack = next((one for one in said if one.side is Side.HOST and _type(one) == "hello_ack"), None)
    hello = next((one for one in said if one.side is Side.EXTENSION and _type(one) == "hello"), None)
    if ack is not None and hello is not None:
        said = [one for one in said if one is not ack]
        said.insert(said.index(hello) + 1, ack)
    return b"".join(write_line(one.side, one.frame, places) for one in said if one.frame is not None)


def _type(said: Said) -> str:
    return str(said.frame.get("type")) if said.frame is not None else ""


class _Rehearsal:
    def __init__(self, room: Harness, found: Found, script: Script, cwd: Path | None, wait_s: float) -> None:
        self._room = room
        self._found = found
        self._script = script
        self._wait_s = wait_s
        self._places: Places = room.prepare(found, cwd)
        self._actor: RecordedProcess | None = None
        self._taken = 0  # of what was heard
        self._done = 0

    @property
    def actor(self) -> RecordedProcess:
        assert self._actor is not None
        return self._actor

    def run(self, *, listening: bool) -> Outcome:
        began = self._room.loop.clock()
        failure: Failure | None = None
        try:
            try:
                self._actor = self._room.start(self._found)
            except SpawnError as error:
                raise _FailedError(Failure(str(error))) from None
            if not self._script.has_handshake:
                self._shake_hands()
            if listening:
                self._listen()
            else:
                self._compare()
            self._end()
            if not listening:
                self._expect_no_more()
        except _FailedError as error:
            failure = error.failure
            if self._actor is not None and self._actor in self._room.actors:
                self._room.end(self._actor, HURRIED)
        actor = self._actor
        return Outcome(
            script=self._script.name,
            steps=len(self._script.steps),
            done=self._done,
            failure=failure,
            said=tuple(actor.said) if actor else (),
            stderr=tuple(actor.stderr_lines()) if actor else (),
            exit=str(actor.exit) if actor and actor.exit else "",
            places=self._places,
            seconds=self._room.loop.clock() - began,
        )

    def _shake_hands(self) -> None:
        handshake = Handshake(self._room.loop, self.actor, self._places)
        timeouts = self._found.manifest.timeouts
        limit = (timeouts.hello or self._found.default_hello_s) + timeouts.ready + 1.0
        self._room.wait(handshake.look, limit)
        if handshake.phase is Phase.FAILED:
            raise _FailedError(Failure(handshake.failure))
        self._taken = handshake.taken

    # --- comparing ----------------------------------------------------------------------------------------

    def _compare(self) -> None:
        for step in self._script.steps:
            if step.side is Side.HOST:
                self._say(step)
            else:
                self._expect(step)
            self._done += 1

    def _say(self, step: Step) -> None:
        frame = self._places.fill(step.frame)
        if frame["type"] == "hello_ack":
            frame = hello_ack(self._places, frame)
        if not self.actor.say(frame):
            self._room.wait(lambda: not self.actor.is_running, EXIT_FOLLOWS_S)
            raise _FailedError(Failure(self._gone() or "it does not read its stdin", step))

    def _expect(self, step: Step) -> None:
        expected = self._places.fill(step.frame)
        kind = expected["type"]
        wait_s = max(self._wait_s, self._hello_s) if kind == "hello" else self._wait_s
        if not self._room.wait(lambda: self._has_said(kind) or not self.actor.is_running or self._is_mute(), wait_s):
            raise _FailedError(Failure(f"expected {kind} within {wait_s:g} s, and it said nothing more", step))
        if not self._has_said(kind):
            self._room.wait(lambda: not self.actor.is_running, EXIT_FOLLOWS_S)
            raise _FailedError(Failure(f"expected {kind}, but {self._gone() or 'it has closed its stdout'}", step))
        said = self.actor.heard[self._taken]
        self._taken += 1
        if said.frame is None:
            raise _FailedError(Failure(f"expected {kind}, but it wrote a line that is no frame: {said.text}", step))
        if found := differences(expected, said.frame):
            other = "" if any(one.path == "type" for one in found) else f"; this {kind} is different"
            raise _FailedError(
                Failure(f"expected {kind}{other or ', and it said another frame'}", step, said.frame, tuple(found))
            )
        if said.fault:
            raise _FailedError(Failure(f"no host takes this: {said.fault}", step, said.frame))

    @property
    def _hello_s(self) -> float:
        return self._found.manifest.timeouts.hello or self._found.default_hello_s

    def _has_said(self, kind: str) -> bool:
        """Whether something has been said that is not to be ignored; unless that is just what is expected."""
        heard = self.actor.heard
        while self._taken < len(heard) and _type(heard[self._taken]) in self._script.about.ignore:
            if _type(heard[self._taken]) == kind:
                return True
            self._taken += 1
        return self._taken < len(heard)

    def _is_mute(self) -> bool:
        return self.actor.is_mute

    def _gone(self) -> str:
        return f"it has ended ({self.actor.exit})" if not self.actor.is_running else ""

    # --- recording ----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        for step in self._script.steps:
            if step.side is Side.HOST:
                self._say_when_quiet(step)
            self._done += 1

    def _say_when_quiet(self, step: Step) -> None:
        kind = step.frame["type"]
        actor = self.actor
        if kind == "hello_ack":
            if not self._room.wait(lambda: bool(actor.heard) or not actor.is_running, self._hello_s):
                raise _FailedError(Failure(f"said no hello within {self._hello_s:g} s", step))
            self._say(step)
            self._until_quiet()
            return
        before = len(actor.heard)
        self._say(step)
        if kind == "shutdown":
            return
        if (answer := answer_to(self._places.fill(step.frame))) is None:
            self._until_quiet()
            return
        if not self._room.wait(lambda: _has_answer(actor, before, answer) or not actor.is_running, self._wait_s):
            raise _FailedError(Failure(f"no {answer.type} within {self._wait_s:g} s", step))
        if not _has_answer(actor, before, answer):
            raise _FailedError(Failure(self._gone(), step))

    def _until_quiet(self) -> None:
        clock, actor = self._room.loop.clock, self.actor
        began = clock()
        while (
            actor.is_running and clock() - max(began, actor.last_heard_at) < QUIET_S and clock() - began < self._wait_s
        ):
            self._room.wait(lambda: not actor.is_running, QUIET_S)

    # --- the end ------------------------------------------------------------------------------------------

    def _end(self) -> None:
        actor = self.actor
        self._room.end(actor)
        if self._room.is_interrupted:
            self._room.wait(lambda: True, 0)
        if late := ended_badly(actor, self._script.about.exit):
            raise _FailedError(Failure(late))

    def _expect_no_more(self) -> None:
        """An answer to a shutdown that the script does not speak of is as it should be. A script of the host's lines
        alone says nothing of what is to be answered."""
        spare = {*self._script.about.ignore, *(() if self._script.has_shutdown else ("shutdown_ack",))}
        judges = any(step.side is Side.EXTENSION for step in self._script.steps)
        for said in self.actor.heard[self._taken :]:
            if said.frame is None:
                raise _FailedError(Failure(f"it wrote a line that is no frame: {said.text}"))
            if judges and _type(said) not in spare:
                raise _FailedError(Failure("it said more than the script expects", None, said.frame))


HURRIED = Patience(hint=0.0, ask=0.5, term=0.5)
"""For one that has failed already."""


def _has_answer(actor: RecordedProcess, since: int, answer: Answer) -> bool:
    return any(one.frame is not None and answer.is_in(one.frame) for one in actor.heard[since:])


def ended_badly(actor: RecordedProcess, expected: int = 0) -> str:
    """What is wrong with how it has ended; empty if nothing is."""
    status = actor.exit
    if status is None:
        return "it could not be ended"
    if actor.asked_at is None:
        return f"it ended ({status}) before it was asked to"
    if status.code in (-signal.SIGTERM, -signal.SIGKILL):
        return f"it did not end within {Patience().ask:g} s of the shutdown, nor when its stdin was closed ({status})"
    return "" if status.code == expected else f"after the shutdown it ended with {status}, not {expected}"
