"""One trial of one fault: its processes, its folders, and its chance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.harness.script import Side
from supervisor.process.child import SpawnError
from supervisor.torture.arguments import FILE
from supervisor.torture.player import Player
from supervisor.torture.probe import ProbeKind
from supervisor.torture.steps import NotApplicableError, NotHeldError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.comparison import ScriptPaths
    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedLine
    from supervisor.registry.registration import Tool
    from supervisor.torture.forms import Forms
    from supervisor.torture.probe import Probe
    from supervisor.torture.steps import Steps


@dataclass
class Subject:
    """The extension, and what was learned of it in a start without a fault."""

    found: FoundExtension
    forms: Forms
    probe: Probe | None = None
    """The question that it is asked; None if it answers nothing."""
    tool: Tool | None = None
    """The tool of the probe."""
    commands: Sequence[str] = ()
    observes: Sequence[str] = ()
    answer_s: float = 10.0
    """Seconds for each answer."""
    call_s: float = 0.0
    """Seconds that a call took without a fault."""
    writes_junk: bool = False
    """Whether it writes lines that are no frames without any fault, too."""
    answers_twice: bool = False
    """Whether it gives more than one answer to a question without any fault, too."""


class Trial:
    """The steps of a fault call these methods. `paths` are the folders of its first process."""

    def __init__(self, harness: Harness, subject: Subject, rng: Random) -> None:
        self.subject = subject
        self.rng = rng
        self.forms = subject.forms
        self.players: list[Player] = []
        self._harness = harness
        self._paths: ScriptPaths | None = None

    @property
    def paths(self) -> ScriptPaths:
        """An empty data folder, and a project with one file."""
        if self._paths is None:
            self._paths = self._harness.prepare(self.subject.found)
            Path(self._paths.cwd, FILE).write_text("torture\n")
        return self._paths

    def launch(self, paths: ScriptPaths | None = None, *, greets: bool = True, launcher: Sequence[str] = ()) -> Player:
        """Starts a process, and does not wait for it. Raises `NotHeldError` if it cannot be started."""
        subject = self.subject
        hear: list[Player] = []

        def on_said(said: RecordedLine) -> None:
            if hear and said.side is Side.EXTENSION:
                hear[0].on_said(said)

        try:
            process = self._harness.start(
                subject.found, paths or self.paths, greets=greets, launcher=launcher, on_said=on_said
            )
        except SpawnError as error:
            raise NotHeldError(str(error)) from None
        player = Player(
            self._harness, process, self.forms, subject.probe, subject.answer_s, answers_twice=subject.answers_twice
        )
        hear.append(player)
        self.players.append(player)
        return player

    def start(self, paths: ScriptPaths | None = None, *, launcher: Sequence[str] = ()) -> Steps:
        """Starts a process and waits until it is ready. It is the last one of `players`."""
        yield from self.launch(paths, launcher=launcher).gets_ready()

    def prepare_other(self) -> str:
        """The folder of another project."""
        return self._harness.prepare(self.subject.found).cwd

    def close(self) -> Steps:
        """Ends all processes."""
        for player in self.players:
            yield from player.close()

    @property
    def now(self) -> float:
        """Seconds of the loop's clock."""
        return self._harness.loop.clock()

    @property
    def player(self) -> Player:
        """The process that was started last."""
        return self.players[-1]

    # --- conditions of faults -----------------------------------------------------------------------------

    def needs_answers(self) -> None:
        """Raises `NotApplicableError` if the extension answers nothing."""
        if self.subject.probe is None:
            raise NotApplicableError("it has no tool, guard or command, and answers no ping")

    def needs_tool(self) -> Tool:
        """The tool of the probe. Raises `NotApplicableError` without one."""
        if self.subject.tool is None:
            raise NotApplicableError("it has no tool that can be called")
        return self.subject.tool

    def needs_text(self) -> None:
        """Raises `NotApplicableError` if no question takes a text."""
        self.needs_answers()
        if self.subject.probe is None or not self.subject.probe.takes_text:
            raise NotApplicableError("no argument of its tool takes any text")

    def needs_lines(self) -> None:
        if not self.forms.separator:
            raise NotApplicableError("its protocol has no lines: a header has the length of each frame")

    @property
    def many(self) -> int:
        """The number of calls in a storm: less for an extension that takes long for one."""
        per_call = max(self.subject.call_s, 0.001)
        return max(5, min(self.rng.randint(80, 160), int(3.0 / per_call)))

    @property
    def asks_calls(self) -> bool:
        """Whether the probe is a call that may be cancelled."""
        return self.subject.probe is not None and self.subject.probe.kind in (ProbeKind.TOOL, ProbeKind.COMMAND)
