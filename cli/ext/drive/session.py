"""`zot ext drive`: a conversation with one extension, typed by a person or read from a pipe."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.ext.drive.cooked_lines import CookedLines
from cli.ext.drive.screen import PROMPT, ConversationView
from cli.ext.drive.typed_commands import HELP, CommandError, RegisteredNames, frame_for
from cli.ext.drive.typed_lines import TypedLines
from cli.ext.script_target import check_conversation, project_at, script_target
from cli.os_errors import UnableError
from cli.terminal import is_screen, wants_style
from supervisor.harness.harness import Harness, HarnessInterruptedError
from supervisor.harness.messages import answer_to
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.harness.result import recording_of
from supervisor.harness.script import Side
from supervisor.harness.script_runner import exit_fault
from supervisor.home.config import load_config
from supervisor.home.zot_home import zot_home
from supervisor.process.child import EXIT_FOLLOWS_S, SpawnError
from wire.exit_codes import Status

if TYPE_CHECKING:
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.comparison import ScriptPaths
    from supervisor.harness.messages import ExpectedAnswer
    from supervisor.harness.recorded_process import RecordedLine, RecordedProcess
    from supervisor.loop.loop import Timer


PROMPT_AFTER_S = 0.1
"""Seconds of silence of the extension before the prompt."""


@dataclass(frozen=True)
class DriveRequest:
    """The arguments of `zot ext drive`. `wait_s` is in seconds."""

    path: str
    record: str | None
    wait_s: float
    cwd: str | None
    as_json: bool


def run_drive(request: DriveRequest) -> int:
    """Returns the exit status: 0; 1 if the extension failed or an answer did not come. Raises `UnableError`,
    `ManifestError` and `ConfigError` if nothing could be run."""
    found, cwd = _prepare(request)
    config = load_config(zot_home())
    with Harness(owns_process=True, config=config) as harness:
        session = _DriveSession(harness, found, cwd, request)
        session.run()
    return Status.ERROR.exit_code if session.has_failed else 0


def _prepare(request: DriveRequest) -> tuple[FoundExtension, Path]:
    check_conversation(request.wait_s, request.record)
    found = script_target(request.path)
    cwd = project_at(request.cwd or ".")
    if request.record is not None and not Path(request.record).absolute().parent.is_dir():
        raise UnableError(f"--record {request.record}: no such folder", Status.USAGE)
    return found, cwd


class _DriveSession:
    def __init__(self, harness: Harness, found: FoundExtension, cwd: Path, request: DriveRequest) -> None:
        self.has_failed = False
        self._harness = harness
        self._found = found
        self._request = request
        self._paths: ScriptPaths = harness.prepare(found, cwd)
        self._registered = RegisteredNames()
        self._asked: dict[ExpectedAnswer, float] = {}
        self._number = 0
        self._process: RecordedProcess | None = None
        by_hand = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and not request.as_json
        self._by_hand = by_hand
        self._typed = TypedLines(harness, PROMPT) if by_hand and is_screen(1) else None
        self._view = ConversationView(
            as_json=request.as_json, colour=wants_style(), print_above=self._typed.print if self._typed else None
        )
        self._is_asking = False
        self._prompt_timer: Timer | None = None
        self._input = self._typed or CookedLines(harness.loop, 0)

    def run(self) -> None:
        try:
            self._process = self._harness.start(
                self._found, self._paths, leaves_calls=True, on_said=self._on_said, on_stderr=self._on_stderr
            )
            self._talk(self._process)
        except SpawnError as error:
            self._fail(str(error))
        except HarnessInterruptedError:
            self._harness.is_interrupted = False  # the end below must not be cut short by the first Ctrl-C
        finally:
            self._is_asking = False
            self._prompt_soon()
            self._input.close()
        if self._process is not None:
            self._end(self._process)

    # --- the conversation ---------------------------------------------------------------------------------

    def _talk(self, process: RecordedProcess) -> None:
        self._harness.wait(lambda: process.phase.is_over, process.handshake_s)
        if process.phase is HandshakePhase.FAILED:
            self._fail(f"{process.failure}{process.last_words}")
            return
        self._input.start()
        if self._by_hand:
            self._view.note("help lists what can be typed; Ctrl-D ends")
        self._is_asking = True
        self._prompt_soon()
        while self._next_line(process) and process.is_running:
            pass

    def _prompt_soon(self) -> None:
        """Prompts once the extension has been silent for `PROMPT_AFTER_S`, so that its answer comes before that."""
        if self._prompt_timer is not None:
            self._prompt_timer.cancel()
        if self._by_hand and self._is_asking and self._typed is None:
            self._prompt_timer = self._harness.loop.call_later(PROMPT_AFTER_S, self._view.prompt)

    def _next_line(self, process: RecordedProcess) -> bool:
        """Obeys the next line; returns False at the end."""
        self._harness.wait(lambda: bool(self._input.lines) or not process.is_running, None)
        if not self._input.lines:
            return False
        if (line := self._input.lines.popleft()) is None:
            if self._typed is not None and self._typed.failure:
                self._fail(self._typed.failure)
            return False
        self._view.is_prompting = False  # the terminal has ended the line
        if self._typed is not None:
            self._view.typed(line)
        if line.strip() in ("quit", "exit"):
            return False
        if line.strip() == "help":
            self._view.note(HELP)
        elif line.strip() and not line.lstrip().startswith("#"):
            self._obey(line, process)
        self._prompt_soon()
        return True

    def _obey(self, line: str, process: RecordedProcess) -> None:
        self._number += 1
        try:
            frame = frame_for(line, self._registered, f"d{self._number}")
        except CommandError as error:
            self._view.note(str(error), "fault")
            self.has_failed |= not self._by_hand
            return
        answer = answer_to(frame)
        if answer is not None:
            self._asked[answer] = self._harness.loop.clock()
        if not process.say(frame):
            self._harness.wait(lambda: not process.is_running, EXIT_FOLLOWS_S)
            self._fail("it does not read its stdin" if process.is_running else "it has ended")
        elif not self._by_hand:
            self._await(process, answer)

    def _await(self, process: RecordedProcess, answer: ExpectedAnswer | None) -> None:
        """Waits for the answer. If none is due, waits until the extension is silent."""
        if answer is not None:
            came = self._harness.wait(
                lambda: answer not in self._asked or bool(self._registered.calls) or not process.is_running,
                self._request.wait_s,
            )
            if answer in self._asked and process.is_running and not came:
                self._fail(f"no {answer.type} within {self._request.wait_s:g} s")
            return
        self._harness.until_quiet(process, self._request.wait_s)

    def _on_said(self, said: RecordedLine) -> None:
        after = None
        if said.side is Side.HOST and said.frame is not None:
            self._registered.answered(said.frame)
        elif said.side is Side.EXTENSION and said.frame is not None:
            self._registered.take_in(said.frame)
            if self._typed is not None:
                self._typed.offer(self._registered.completions)
            for answer in self._asked:
                if answer.is_in(said.frame):
                    after = said.at - self._asked.pop(answer)
                    break
        self._view.said(said, after)
        self._prompt_soon()

    def _on_stderr(self, line: str) -> None:
        self._view.stderr(line)
        self._prompt_soon()

    # --- the end ------------------------------------------------------------------------------------------

    def _end(self, process: RecordedProcess) -> None:
        was_running = process.is_running
        self._harness.end(process)
        took = (
            f" after {process.ended_at - process.asked_at:.2f} s"
            if was_running and process.asked_at and process.ended_at
            else ""
        )
        self._view.note(f"ended: {process.exit}{took}" if process.exit else "it could not be ended")
        why = exit_fault(process)
        if why and not (self.has_failed and process.asked_at is None):  # else its end has been reported already
            self._fail(why)
        if self._request.record is not None:
            self._write(self._request.record, process)

    def _write(self, name: str, process: RecordedProcess) -> None:
        try:
            with open(name, "xb") as file:
                file.write(recording_of(process.said, self._paths))
        except OSError as error:
            self._fail(f"{name}: cannot be written: {error.strerror}")
        else:
            self._view.note(f"wrote {name}; zot ext test {self._request.path} {name} plays it again")

    def _fail(self, reason: str) -> None:
        self.has_failed = True
        self._view.note(f"zot ext drive: {reason}", "fault")
